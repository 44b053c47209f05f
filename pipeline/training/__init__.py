"""Training: one loop for every network."""
