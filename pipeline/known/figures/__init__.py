"""Figures of samples from a known distribution by name."""
