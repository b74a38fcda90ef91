"""Four commands over HTTP, beside the dashboard: the same options, the same answers, the same limits."""
