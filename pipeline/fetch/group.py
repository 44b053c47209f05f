"""A group of the catalogue: files of one origin, which the same sources have."""

from collections.abc import Iterator
from dataclasses import replace

from pipeline.fetch.resource import Archive, Embedded, Package, Resource, Rewritten


def group(
    name: str, origin: str, files: str, *sources: Archive | Embedded | Package | Rewritten | str
) -> Iterator[Resource]:
    """Yield the files of a group; its sources are dependencies, packages, archives, addresses, and paths in a mirror.

    In the sources, `{file}` stands for the name of each file. A line of `files` has its name, its size in bytes (dash:
    not known), its SHA-256 or the id of its Git object, which is shorter, and its name in a package that renamed it.
    """
    for line in files.strip().splitlines():
        file, size, digits, *renamed = line.split()
        member = renamed[0] if renamed else file
        places = [source.format(file=file) for source in sources if isinstance(source, str)]
        yield Resource(
            name,
            file,
            digits if len(digits) == 64 else None,
            origin,
            None if size == "-" else int(size),
            tuple(source for source in sources if isinstance(source, Embedded)),
            tuple(_with_member(source, member) for source in sources if isinstance(source, Package)),
            tuple(place for place in places if place.startswith("https://")),
            tuple(place for place in places if not place.startswith("https://")),
            None if len(digits) == 64 else digits,
            tuple(replace(one, member=one.member.format(file=file)) for one in sources if isinstance(one, Archive)),
            tuple(replace(one, path=one.path.format(file=file)) for one in sources if isinstance(one, Rewritten)),
        )


def _with_member(package: Package, file: str) -> Package:
    return replace(package, member=package.member.format(file=file)) if package.member else package
