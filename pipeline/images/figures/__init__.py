"""Figures of images by name."""
