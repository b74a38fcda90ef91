"""The web server around the dashboard."""
