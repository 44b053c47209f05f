"""The oracle bench: the errors of samplers with the exact posterior, against distributions that are known."""
