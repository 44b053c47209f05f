"""The errors of the mathematics."""

from pipeline.errors import KinoflowError


class FlowError(KinoflowError, ValueError):
    """An argument of the mathematics that has no meaning, such as a time outside [0, 1] or an unknown token."""
