"""Data sets with a known distribution by name."""
