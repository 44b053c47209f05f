"""Networks for any tokens by name."""
