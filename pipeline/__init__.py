"""Kinoflow: discrete flow matching with any probability path."""

__version__ = "0.1.0"
