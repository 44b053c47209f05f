"""Data whose distribution is known exactly, with their metric and figure."""
