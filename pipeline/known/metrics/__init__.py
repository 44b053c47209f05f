"""Metrics against a known distribution by name."""
