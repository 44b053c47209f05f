"""Networks: one file each; `Options`, and `build(options, vocabulary, length)` that returns the module."""
