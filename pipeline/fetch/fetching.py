"""Fetch a resource from the cache or the first source that gives the right bytes, or find out whether one has it."""

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from pipeline.errors import did_you_mean
from pipeline.fetch.address import obtain_address
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.checks import fault_in, fault_of
from pipeline.fetch.copies import DAMAGED, Request, SourceError, obtain_embedded, obtain_mirror
from pipeline.fetch.package import obtain_package
from pipeline.fetch.resource import MIRROR_VARIABLE, FetchError, Resource, mirror_directory, open_plainly
from pipeline.store.locks import exclusive

logger = logging.getLogger(__name__)

_OBTAIN: dict[str, Callable[[Resource, Path, Request], None]] = {
    "embedded": obtain_embedded,
    "package": obtain_package,
    "address": obtain_address,
    "mirror": obtain_mirror,
}
SOURCES = tuple(_OBTAIN)
NETWORK = "network"


def fetch(
    resource: Resource, cache: Path, order: Sequence[str] = SOURCES, mirror: Path | None = None, progress: bool = True
) -> Path:
    """Return the verified file ``<cache>/<name>/<file>``, trying the sources in ``order`` if it is not there.

    Without ``mirror``, the environment variable KINOFLOW_MIRROR names the mirror. Several processes may fetch the same
    resource at once: one does the work.
    """
    allowed = ", ".join(SOURCES)
    if isinstance(order, str) or not order:
        raise FetchError(f"data.order is {order!r}: give a list of one or more of {allowed}")
    for kind in order:
        if kind not in SOURCES:
            raise FetchError(f"data.order: unknown kind of source {kind!r}; allowed are {allowed}")
    target, _ = resource.path(cache), resource.checks  # an error if nothing can be checked
    # Check before locking, so that a cache that already has the file may be read-only.
    if _cached_fault(target, resource) == "":
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(target.with_name(f".{target.name}.lock"), f"fetching {resource.key}") as locked:
            fault = _cached_fault(target, resource)
            if fault == "":
                return target
            if locked:  # temporary files here are those of killed processes
                for temporary in target.parent.glob(f".{target.name}.*-*.tmp"):
                    temporary.unlink(missing_ok=True)
            if fault is not None:
                logger.warning("%s is corrupted (%s); fetching it again", target, fault)
            _obtain_first(resource, target, order, Request(Path(cache), mirror_directory(mirror), progress), fault)
    except OSError as error:
        raise FetchError(
            f"cannot write {target}: {error}; give data.cache a directory that can be written and has space"
        ) from error
    return target


def find(name: str) -> list[Resource]:
    """Return the catalogue's resources for a key such as ``mnist/t10k-labels-idx1-ubyte`` or a group (``mnist``)."""
    found = [resource for key, resource in CATALOGUE.items() if name in (key, resource.name)]
    if found:
        return found
    groups = sorted({resource.name for resource in CATALOGUE.values()})
    near = get_close_matches(name, [*groups, *CATALOGUE], n=5, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(groups)}"
    raise FetchError(f"unknown resource {name!r}: {hint}")


def fetch_by_name(
    name: str,
    cache: Path,
    order: Sequence[str] = SOURCES,
    mirror: Path | None = None,
    checksums: Mapping[str, str] | None = None,
) -> list[Path]:
    """Fetch the resources that ``find`` gives for a name, and return their paths.

    ``checksums`` are the user's own SHA-256 by key. Files are checked by these besides what the catalogue has.
    """
    given = dict(checksums or {})
    for key in given:
        if key not in CATALOGUE:
            wanted = [name for name, resource in CATALOGUE.items() if resource.sha256 is None]
            raise FetchError(f"data.checksums: no file {key!r} is in the catalogue; {did_you_mean(key, wanted)}")
    return [fetch(resource.with_checksum(given.get(resource.key)), cache, order, mirror) for resource in find(name)]


def list_resources(cache: Path) -> list[dict[str, str]]:
    """Return a row for each file of the catalogue: name, size, sources, check, whether cached, origin and licence."""
    rows = []
    for key, resource in CATALOGUE.items():
        known = (resource.embedded, resource.packages, resource.has_address, resource.copies)
        rows.append(
            {
                "name": key,
                "size": "" if resource.size is None else f"{resource.size / 1e6:.2f} MB",
                "sources": ", ".join(kind for kind, places in zip(SOURCES, known, strict=True) if places),
                "check": " and ".join(resource.checks),
                "origin": resource.origin,
                "cached": "yes" if resource.path(cache).is_file() else "no",
            }
        )
    return rows


def _cached_fault(target: Path, resource: Resource) -> str | None:
    """Return what is wrong with the cached file; empty if it is right, None if there is no file."""
    if not target.exists():
        return None
    if not target.is_file():
        raise FetchError(f"{target} is not a file: remove it, or give data.cache another directory")
    return fault_in(target, resource)


def _obtain_first(resource: Resource, target: Path, order: Sequence[str], request: Request, fault: str | None) -> None:
    """Try the kinds of source; if all fail, say of each kind, tried or not, why it failed and what to do."""
    failures: dict[str, SourceError] = {}
    for kind in order:
        try:
            _OBTAIN[kind](resource, target, request)
        except SourceError as error:
            failures[kind] = error
        else:
            logger.info("%s: fetched from the source %r", resource.key, kind)
            return
    lines = [f"could not fetch {resource.key} (data.order: {', '.join(order)})"]
    if fault is not None:
        lines.append(f"  cache: {target} is corrupted and could not be replaced: {fault}")
    for kind in [*dict.fromkeys(order), *(kind for kind in SOURCES if kind not in order)]:
        failure = failures.get(kind, SourceError(["not tried"], f"add {kind!r} to data.order to try it"))
        lines += [f"  {kind}: {reason}" for reason in failure.reasons]
        lines.append(f"    -> {failure.advice}")
    lines.append(f"  by hand: put the file with {resource.expected} at {target}")
    raise FetchError("\n".join(lines))


@dataclass(frozen=True)
class Available:
    """Where a resource is: `cache`, a kind in data.order that is on this machine, `network`; None for the reasons."""

    source: str | None
    reasons: tuple[str, ...] = ()


def available(resource: Resource, cache: Path, order: Sequence[str], mirror: Path | None) -> Available:
    """Return where the verified file is, or may be; raise a FetchError if its checksum is not known."""
    target, _ = resource.path(cache), resource.checks  # an error if nothing can be checked
    fault = _cached_fault(target, resource)
    if fault == "":
        return Available("cache")
    if fault is not None:  # the workflow does not fetch a file that exists
        return Available(None, (f"{target}: {fault}; remove it, and it is fetched again",))
    reasons: list[str] = []
    for kind in order:
        if found := _look(resource, kind, mirror, reasons):
            return Available(found)
    for kind, places in {"package": resource.packages, "address": resource.has_address}.items():
        if places and kind not in order:
            reasons.append(f"add {kind!r} to data.order to have it from there")
    reasons.append(f"or put the file with {resource.expected} at {target}")
    return Available(None, tuple(reasons))


def _look(resource: Resource, kind: str, mirror: Path | None, reasons: list[str]) -> str | None:
    """Return `kind`, or `network`, if the resource is available there; otherwise add the reason to `reasons`."""
    if kind == "embedded":
        return "embedded" if any(_is_right(path, resource, reasons) for path in _shipped(resource)) else None
    if kind == "mirror":
        if mirror is None or not mirror.is_dir():
            what = "there is no mirror" if mirror is None else f"the mirror {mirror} is not a directory"
            wanted = " or ".join(resource.copies)
            reasons.append(f"{what}: set data.mirror or {MIRROR_VARIABLE} to a directory that has {wanted}")
            return None
        copies = {mirror / path: opened for path, opened in resource.copies.items()}
        if any(_is_right(path, resource, reasons, opened) for path, opened in copies.items()):
            return "mirror"
        if not any(path.is_file() for path in copies):
            reasons.append(f"the mirror {mirror} has no {' or '.join(resource.copies)}")
        return None
    if kind == "package" and resource.packages:
        if any(package.kind != "npm" or shutil.which("npm") for package in resource.packages):
            return NETWORK
        reasons.append(f"npm, which gets {resource.packages[0].name}, is not installed")
        return None
    return NETWORK if kind == "address" and resource.has_address else None


def _shipped(resource: Resource) -> list[Path]:
    """Return the files of installed dependencies that hold the resource; importing these would take seconds."""
    specs = [(find_spec(source.module), source.member) for source in resource.embedded]
    return [Path(folder, member) for spec, member in specs if spec for folder in spec.submodule_search_locations or ()]


def _is_right(
    path: Path, resource: Resource, reasons: list[str], opened: Callable[[Path], IO[bytes]] = open_plainly
) -> bool:
    if not path.is_file():
        return False
    try:
        with opened(path) as stream:
            fault = fault_of(stream, resource)
    except DAMAGED as error:
        fault = f"is damaged ({error})"
    if fault:
        reasons.append(f"{path}: {fault}")
    return not fault
