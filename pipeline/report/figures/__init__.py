"""Figures: one file each; `Options`, and `draw(samples, tokens, options)` that returns a matplotlib figure."""
