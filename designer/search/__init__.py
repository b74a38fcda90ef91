"""The best design for a tolerance: what is judged (`criteria`), where (`space`), how (`search`)."""
