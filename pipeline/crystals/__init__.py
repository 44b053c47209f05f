"""Crystals: tokens and structures, files of them, relaxation, the convex hull, and what is known of each structure."""
