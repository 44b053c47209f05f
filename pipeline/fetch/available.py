"""Where a resource is available, found out without fetching it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pipeline.fetch.copies import difference, sha256_of
from pipeline.fetch.fetching import cached_fault
from pipeline.fetch.resource import MIRROR_VARIABLE, Resource

NETWORK = "network"


@dataclass(frozen=True)
class Available:
    """Where a resource is: `cache`, a kind in data.order that is on this machine, `network`; None for the reasons."""

    source: str | None
    reasons: tuple[str, ...] = ()


def available(resource: Resource, cache: Path, order: Sequence[str], mirror: Path | None) -> Available:
    """Return where the verified file is, or may be; raise a FetchError if its checksum is not known."""
    fault = cached_fault(resource.path(cache), resource.checksum)
    if fault == "":
        return Available("cache")
    if fault is not None:  # the workflow does not fetch a file that exists
        return Available(None, (f"{resource.path(cache)}: {fault}; remove it, and it is fetched again",))
    reasons: list[str] = []
    for kind in order:
        if found := _look(resource, kind, mirror, reasons):
            return Available(found)
    for kind, places in {"package": resource.packages, "address": resource.addresses}.items():
        if places and kind not in order:
            reasons.append(f"add {kind!r} to data.order to have it from there")
    reasons.append(f"or put the file with SHA-256 {resource.checksum} at {resource.path(cache)}")
    return Available(None, tuple(reasons))


def _look(resource: Resource, kind: str, mirror: Path | None, reasons: list[str]) -> str | None:
    """Return `kind`, or `network`, if the resource is available there; otherwise add the reason to `reasons`."""
    if kind == "embedded":
        return "embedded" if any(_is_right(path, resource, reasons) for path in _shipped(resource)) else None
    if kind == "mirror":
        if mirror is None or not mirror.is_dir():
            what = "there is no mirror" if mirror is None else f"the mirror {mirror} is not a directory"
            wanted = " or ".join(resource.mirror_paths)
            reasons.append(f"{what}: set data.mirror or {MIRROR_VARIABLE} to a directory that has {wanted}")
            return None
        paths = [mirror / path for path in resource.mirror_paths]
        if any(_is_right(path, resource, reasons) for path in paths):
            return "mirror"
        if not any(path.is_file() for path in paths):
            reasons.append(f"the mirror {mirror} has no {' or '.join(resource.mirror_paths)}")
        return None
    if kind == "package" and resource.packages:
        if any(package.kind != "npm" or shutil.which("npm") for package in resource.packages):
            return NETWORK
        reasons.append(f"npm, which gets {resource.packages[0].name}, is not installed")
        return None
    return NETWORK if kind == "address" and resource.addresses else None


def _shipped(resource: Resource) -> list[Path]:
    """Return the files of installed dependencies that hold the resource; importing these would take seconds."""
    specs = [(find_spec(source.module), source.member) for source in resource.embedded]
    return [Path(folder, member) for spec, member in specs if spec for folder in spec.submodule_search_locations or ()]


def _is_right(path: Path, resource: Resource, reasons: list[str]) -> bool:
    if not path.is_file():
        return False
    if (got := sha256_of(path)) == resource.checksum:
        return True
    reasons.append(f"{path}: {difference(resource.checksum, got)}")
    return False
