"""Files in a local directory, for machines without a network."""

import os
from pathlib import Path

from pipeline.fetch.errors import SourceError
from pipeline.fetch.request import Request
from pipeline.fetch.resource import Resource
from pipeline.fetch.verified import ChecksumError, write_verified

MIRROR_VARIABLE = "KINOFLOW_MIRROR"


def mirror_directory(mirror: Path | None) -> Path | None:
    """Return the given mirror or, without one, the mirror that the environment names."""
    if mirror is not None:
        return Path(mirror).expanduser()
    value = os.environ.get(MIRROR_VARIABLE, "")
    return Path(value).expanduser() if value else None


def obtain_mirror(resource: Resource, target: Path, request: Request) -> None:
    """Copy the file out of the mirror's directory."""
    wanted = " or ".join(resource.mirror_paths)
    advice = f"set data.mirror or {MIRROR_VARIABLE} to a directory that has {wanted}"
    if request.mirror is None:
        raise SourceError(["mirror not set"], advice)
    if not request.mirror.is_dir():
        raise SourceError([f"the mirror {request.mirror} is not a directory"], advice)
    reasons = []
    for path in resource.mirror_paths:
        origin = request.mirror / path
        try:
            with origin.open("rb") as stream:
                write_verified(stream, target, resource.checksum, resource.size)
            return
        except FileNotFoundError:
            reasons.append(f"{origin} does not exist")
        except (IsADirectoryError, PermissionError) as error:
            reasons.append(f"{origin} cannot be read: {error.strerror}")
        except ChecksumError as error:
            reasons.append(f"{origin}: {error}")
    raise SourceError(reasons, f"put the file with SHA-256 {resource.checksum} at {request.mirror / resource.key}")
