"""Errors of fetching: a resource that no source gave, and one kind of source that did not work."""

from collections.abc import Sequence

from pipeline.errors import KinoflowError


class FetchError(KinoflowError):
    """A resource that could not be fetched, or a description of one that has no meaning."""


class SourceError(FetchError):
    """One kind of source that did not work: the reason for each thing tried, and what the user can do about it."""

    def __init__(self, reasons: Sequence[str], advice: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)
        self.advice = advice
