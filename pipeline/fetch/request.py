"""How to fetch: what the four kinds of source need to know besides the resource."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """The cache directory, the mirror directory if there is one, and whether to draw progress bars."""

    cache: Path
    mirror: Path | None
    progress: bool
