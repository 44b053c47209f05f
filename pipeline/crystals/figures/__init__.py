"""Figures of crystals by name."""
