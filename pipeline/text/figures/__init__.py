"""Figures of text by name."""
