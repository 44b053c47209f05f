"""Networks for text by name."""
