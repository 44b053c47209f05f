"""Crystals: tokens, structures and their files, relaxation, the convex hull, and what is known about each structure."""
