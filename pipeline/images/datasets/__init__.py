"""Data sets of images by name: pixels, and codes of a tokenizer."""
