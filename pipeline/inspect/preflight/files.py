"""Do the files that the experiments need exist, or can they be fetched?"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pipeline.config import Fetching
from pipeline.errors import did_you_mean
from pipeline.fetch.available import NETWORK, available
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.errors import FetchError
from pipeline.fetch.mirror import mirror_directory
from pipeline.inspect.preflight.findings import Findings
from pipeline.stages.job import Need

Thing = TypeVar("Thing", str, Path)
OFFLINE = "HF_HUB_OFFLINE"


@dataclass(frozen=True)
class Files(Findings):
    """What was found about files, and which of them are still to be copied or downloaded into the cache."""

    awaited: list[str] = field(default_factory=list)


def check_files(needs: Sequence[Need], settings: Fetching) -> Files:
    """Return which files are missing: some that cannot be fetched, the user's own, or repositories on the Hub."""
    found = Files()
    _check_checksums(settings, found)
    downloads = []
    for name, keys in _keys_by((file, need.key) for need in needs for file in need.fetched).items():
        source = _check_fetched(name, keys, settings, found)
        found.awaited.extend([name] if source not in ("cache", None) else [])
        downloads += [name] if source == NETWORK else []
    if downloads:
        size = sum(CATALOGUE[name].size or 0 for name in downloads) / 1e6
        found.remarks.append(f"to be downloaded ({size:.0f} MB, where known): {', '.join(downloads)}")
    for path, keys in _keys_by((path, need.key) for need in needs for path in need.own).items():
        if not path.exists():
            found.problems.append(f"{keys}: {path}: no such file or folder; correct the path, or put it there")
    for name, keys in _keys_by((name, need.key) for need in needs for name in need.hub).items():
        _check_hub(name, keys, found)
    return found


def _check_checksums(settings: Fetching, found: Findings) -> None:
    for key in settings.checksums:
        if key not in CATALOGUE:
            hint = did_you_mean(key, [name for name, resource in CATALOGUE.items() if resource.sha256 is None])
            found.problems.append(f"data.checksums: no file {key!r} is in the catalogue; {hint}")


def _check_fetched(name: str, keys: str, settings: Fetching, found: Findings) -> str | None:
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


def _check_hub(name: str, keys: str, found: Findings) -> None:
    if name.startswith(("/", ".", "~")):
        found.problems.append(f"{keys}: {name}: no such directory; correct the path, or name a repository of the Hub")
    elif os.environ.get(OFFLINE, "").upper() in {"1", "ON", "YES", "TRUE"}:
        found.remarks.append(f"{keys}: {name} has to be in the Hugging Face cache already, since {OFFLINE} is set")
    else:
        found.remarks.append(f"{keys}: {name} is read from the Hugging Face Hub, or its cache, when it is needed")


def _keys_by(pairs: Iterable[tuple[Thing, str]]) -> dict[Thing, str]:
    """Return each needed thing with the keys that need it."""
    keys: dict[Thing, list[str]] = {}
    for thing, key in pairs:
        keys.setdefault(thing, []).append(key)
    return {thing: ", ".join(dict.fromkeys(found)) for thing, found in keys.items()}
