"""The words for errors of the disk, with what to do about them."""

from pipeline.store.atomic import FORBIDDEN, FULL


def message_of(error: Exception) -> str:
    """Return what the user is told of an error: of a disk that is full or read-only, also what to do."""
    if isinstance(error, OSError) and error.errno in FULL:
        return (
            f"{_place(error)}: {error.strerror}. Nothing half-written was left: free space (or raise the quota), then "
            "run the same again; it goes on from what is finished"
        )
    if isinstance(error, OSError) and error.errno in FORBIDDEN:
        return (
            f"{_place(error)}: {error.strerror}. Give yourself the right to it, or name other directories with the "
            "keys `results` and `data.cache`, or other files"
        )
    return str(error)


def _place(error: OSError) -> str:
    return str(error.filename or "standard output")
