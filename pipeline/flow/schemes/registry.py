"""The registry of schemes. A new one registers itself when its file is imported."""

from pipeline.flow.registry import Registry

SCHEMES: Registry = Registry("scheme")
