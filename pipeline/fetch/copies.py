"""Verified copies: a file appears only when its checksum is right. It may be on this machine already.

Dependencies ship some files; a mirror is a directory with copies, for machines without a network.
"""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

from pipeline.fetch.checks import fault_in
from pipeline.fetch.resource import MIRROR_VARIABLE, FetchError, Resource
from pipeline.store.atomic import replacing

CHUNK = 1 << 20
# How a copy that has to be rewritten fails.
DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError, ValueError, LookupError, TypeError)


class SourceError(FetchError):
    """A kind of source that failed: the reason for each attempt, and what the user can do about it."""

    def __init__(self, reasons: Sequence[str], advice: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)
        self.advice = advice


@dataclass(frozen=True)
class Request:
    """How to fetch: the cache directory, the mirror directory if any, and whether to draw progress bars."""

    cache: Path
    mirror: Path | None
    progress: bool


def write_verified(stream: IO[bytes], target: Path, resource: Resource) -> None:
    """Copy a stream to ``target`` by way of a temporary file; raise an error if the bytes are not the resource's."""
    with replacing(target) as temporary:
        with temporary.open("wb") as output:
            while chunk := stream.read(CHUNK):
                resource.check_size(output.tell() + len(chunk))
                output.write(chunk)
        if fault := fault_in(temporary, resource):
            raise FetchError(fault)


def obtain_embedded(resource: Resource, target: Path, request: Request) -> None:
    """Copy the file out of the first installed dependency that has the right bytes."""
    if not resource.embedded:
        raise SourceError(["no dependency ships it"], "nothing to do here: use another source")
    reasons = []
    for source in resource.embedded:
        try:
            with resources.files(source.module).joinpath(source.member).open("rb") as stream:
                write_verified(stream, target, resource)
            return
        except ModuleNotFoundError as error:
            reasons.append(f"{source.distribution} is not installed ({error})")
        except FileNotFoundError:
            reasons.append(f"the installed {source.distribution} has no {source.module}/{source.member}")
        except FetchError as error:
            reasons.append(f"{source.module}/{source.member} of the installed {source.distribution}: {error}")
    names = " or ".join(source.distribution for source in resource.embedded)
    raise SourceError(reasons, f"install {names} in the version that envs/ pins")


def obtain_mirror(resource: Resource, target: Path, request: Request) -> None:
    """Copy the file out of the mirror's directory."""
    wanted = " or ".join(resource.copies)
    advice = f"set data.mirror or {MIRROR_VARIABLE} to a directory that has {wanted}"
    if request.mirror is None:
        raise SourceError(["mirror not set"], advice)
    if not request.mirror.is_dir():
        raise SourceError([f"the mirror {request.mirror} is not a directory"], advice)
    reasons = []
    for path, opened in resource.copies.items():
        origin = request.mirror / path
        try:
            with opened(origin) as stream:
                write_verified(stream, target, resource)
            return
        except FileNotFoundError:
            reasons.append(f"{origin} does not exist")
        except (IsADirectoryError, PermissionError) as error:
            reasons.append(f"{origin} cannot be read: {error.strerror}")
        except DAMAGED as error:
            reasons.append(f"{origin} is damaged ({error})")
        except FetchError as error:
            reasons.append(f"{origin}: {error}")
    raise SourceError(reasons, f"put the file with {resource.expected} at {request.mirror / resource.key}")
