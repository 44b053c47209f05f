"""Do the files that the experiments need exist, or can they be fetched?"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pipeline.config import Fetching
from pipeline.errors import did_you_mean
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.fetching import NETWORK, available
from pipeline.fetch.resource import FetchError, mirror_directory
from pipeline.inspect.preflight.findings import Findings
from pipeline.stages.job import Need

OFFLINE = "HF_HUB_OFFLINE"


def check_files(needs: Sequence[Need], settings: Fetching, found: Findings) -> list[str]:
    """Return which files are still to be copied or downloaded into the cache.

    Those that cannot be fetched, missing files of the user, and repositories on the Hub are added to what was found.
    """
    for key in settings.checksums:
        if key not in CATALOGUE:
            hint = did_you_mean(key, [name for name, resource in CATALOGUE.items() if resource.sha256 is None])
            found.problems.append(f"data.checksums: no file {key!r} is in the catalogue; {hint}")
    sources = {name: _source(name, keys, settings, found) for name, keys in _keys_by(needs, "fetched").items()}
    if downloads := [name for name, source in sources.items() if source == NETWORK]:
        size = sum(CATALOGUE[name].size or 0 for name in downloads) / 1e6
        each = ", ".join(f"{name} ({megabytes(CATALOGUE[name].size)})" for name in downloads)
        found.remarks.append(f"to be downloaded ({size:.0f} MB, where known): {each}")
    for path, keys in _keys_by(needs, "own").items():
        if not path.exists():
            found.problems.append(f"{keys}: {path}: no such file or folder; correct the path, or put it there")
    offline = os.environ.get(OFFLINE, "").upper() in {"1", "ON", "YES", "TRUE"}
    for name, keys in _keys_by(needs, "hub").items():
        what = f"{keys}: {name}"
        if name.startswith(("/", ".", "~")):
            found.problems.append(f"{what}: no such directory; correct the path, or name a repository of the Hub")
        elif offline:
            found.remarks.append(f"{what} has to be in the Hugging Face cache already, since {OFFLINE} is set")
        else:
            found.remarks.append(f"{what} is read from the Hugging Face Hub, or its cache, when it is needed")
    return [name for name, source in sources.items() if source not in ("cache", None)]


def megabytes(size: int | None) -> str:
    """Return the size of a file in megabytes, if it is known."""
    return "size unknown" if size is None else f"{size / 1e6:.3g} MB"


def _source(name: str, keys: str, settings: Fetching, found: Findings) -> str | None:
    """Return where a file of the catalogue is available, or add the problem."""
    mirror = mirror_directory(Path(settings.mirror) if settings.mirror else None)
    try:
        resource = CATALOGUE[name].with_checksum(settings.checksums.get(name))
        where = available(resource, Path(settings.cache), settings.order, mirror)
    except FetchError as error:
        found.problems.append(f"{keys}: {error}")
        return None
    if where.source is None:
        found.problems.append(f"{keys}: {name} cannot be had: {'; '.join(where.reasons)}")
    return where.source


def _keys_by(needs: Sequence[Need], kind: Literal["fetched", "own", "hub"]) -> dict[Any, str]:
    """Return each needed thing of a kind with the keys that need it."""
    keys: dict[Any, list[str]] = {}
    for need in needs:
        for thing in getattr(need, kind):
            keys.setdefault(thing, []).append(need.key)
    return {thing: ", ".join(dict.fromkeys(found)) for thing, found in keys.items()}
