"""Metrics of text by name."""
