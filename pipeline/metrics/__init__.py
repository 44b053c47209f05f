"""Metrics: one file each; `Options`, and `score(subject, options)` that returns a flat dictionary of numbers."""
