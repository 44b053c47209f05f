"""What networks of all kinds share: blocks, saved weights, objectives, devices."""
