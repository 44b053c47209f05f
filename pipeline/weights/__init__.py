"""Weights for others to use: folders with a network and all that generation needs, here or on the Hugging Face Hub."""
