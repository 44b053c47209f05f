"""The root of every error that Kinoflow raises on purpose, and the errors of the mathematics."""


class KinoflowError(Exception):
    """An error whose message names what is wrong and how to mend it; shown to users without a traceback."""


class FlowError(KinoflowError, ValueError):
    """An argument of the mathematics that has no meaning, such as a time outside [0, 1] or an unknown token."""
