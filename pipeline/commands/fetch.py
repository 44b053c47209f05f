"""Files of the catalogue to the cache."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def fetch(
    *names: str,
    config: Path = Path("config/demo.yaml"),
    set: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=(), show_default=False)] = (),
    cache: Path | None = None,
    mirror: Path | None = None,
    order: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=(), show_default=False)] = (),
) -> None:
    """Fetch files of the catalogue, or list it.

    Writes verified files to the cache. Without names, prints what there is.

    Args:
        names: files or groups of files of the catalogue
        config: YAML file
        set: values over those of the file
        cache: folder of fetched files (default: data.cache)
        mirror: folder with copies (default: data.mirror)
        order: kinds of sources to try (default: data.order)
    """
    from pipeline.config.loading import load_config, parse_setting
    from pipeline.fetch.fetching import fetch_by_name, list_resources

    settings = load_config(config, map(parse_setting, set), choices=False).data
    folder = cache or Path(settings.cache)
    copies = mirror or (Path(settings.mirror) if settings.mirror else None)
    for name in names:
        for path in fetch_by_name(name, folder, order or settings.order, copies, checksums=settings.checksums):
            print(path)
    if not names:
        for row in list_resources(folder):
            cached = "cached" if row["cached"] == "yes" else ""
            print(f"{row['name']:<48} {row['size']:>10}  {cached:<6}  {row['sources']:<16}  {row['origin']}")
