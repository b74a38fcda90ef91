"""What a session holds besides its widgets."""
