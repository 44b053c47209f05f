"""Errors of fetching: no source could provide a resource, or one kind of source failed."""

from collections.abc import Sequence

from pipeline.errors import KinoflowError


class FetchError(KinoflowError):
    """A resource that could not be fetched, or whose description is invalid."""


class SourceError(FetchError):
    """A kind of source that failed: the reason for each attempt, and what the user can do about it."""

    def __init__(self, reasons: Sequence[str], advice: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)
        self.advice = advice
