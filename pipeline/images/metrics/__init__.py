"""Metrics of images by name."""
