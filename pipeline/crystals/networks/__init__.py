"""Networks for crystals by name."""
