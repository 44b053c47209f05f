"""Networks for images by name."""
