"""The dashboard: response times."""
