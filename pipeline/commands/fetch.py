from pathlib import Path

from pipeline.stages.parameters import ConfigFile, Settings, Texts


def fetch(
    *names: str,
    config: ConfigFile = Path("config/demo.yaml"),
    set: Settings = (),
    cache: Path | None = None,
    mirror: Path | None = None,
    order: Texts = (),
) -> None:
    """Fetch files of the catalogue, or list the catalogue.

    Writes verified files to the cache. Without names, lists what can be fetched.

    Args:
        names: files or groups of files of the catalogue
        cache: folder of fetched files (default: data.cache)
        mirror: folder with copies (default: data.mirror)
        order: kinds of sources to try (default: data.order)
    """
    from pipeline.config.loading import load_layered, parse_setting
    from pipeline.fetch.fetching import fetch_by_name, list_resources

    settings = load_layered(config, map(parse_setting, set), choices=False).data
    folder = cache or Path(settings.cache)
    copies = mirror or (Path(settings.mirror) if settings.mirror else None)
    for name in names:
        for path in fetch_by_name(name, folder, order or settings.order, copies, checksums=settings.checksums):
            print(path)
    if not names:
        for row in list_resources(folder):
            cached = "cached" if row["cached"] == "yes" else ""
            print(
                f"{row['name']:<48} {row['size']:>10}  {cached:<6}  {row['sources']:<16}  {row['check']:<10}  "
                f"{row['origin']}"
            )
