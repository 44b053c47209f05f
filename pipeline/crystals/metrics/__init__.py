"""Metrics of crystals by name."""
