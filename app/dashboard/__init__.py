"""The dashboard: pages, widgets, the state of a session, background jobs, the server, exports."""
