"""Metrics for any tokens by name."""
