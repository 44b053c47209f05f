"""Sets of images by name: a file each, with `Options`, `side`, `levels` and `read`."""
