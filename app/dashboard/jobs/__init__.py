"""Long work outside the page's run."""
