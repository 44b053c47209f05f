"""Prepared data: token sequences with their vocabulary."""
