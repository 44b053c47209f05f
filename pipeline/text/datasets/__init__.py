"""Data sets of text by name."""
