"""Plotly figures from result types; a module for each page."""
