"""Silence for libraries that report line by line on what they load."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silence(bars: bool = False) -> Iterator[None]:
    """Keep the transformers and hub libraries from printing anything but errors; `bars` lets them show downloads."""
    from transformers.utils import logging as reports

    hub = logging.getLogger("huggingface_hub")
    verbosity, shown, level = reports.get_verbosity(), reports.is_progress_bar_enabled(), hub.level
    reports.set_verbosity_error()
    hub.setLevel(logging.ERROR)
    if not bars:
        reports.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        reports.set_verbosity(verbosity)
        hub.setLevel(level)
        if shown:
            reports.enable_progress_bar()
