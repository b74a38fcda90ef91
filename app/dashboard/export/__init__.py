"""What leaves the dashboard: files, code, reports."""
