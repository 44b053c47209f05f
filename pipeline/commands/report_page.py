from pathlib import Path

from pipeline.commands.given import Given


def report_page(given: Given, *, output: Path | None = None) -> None:
    """Build the results page of a scale.

    Reads tables, samples and records that are there. Writes a folder with an index.html that needs no network. It can
    be built while a run is at work, and says what is not there yet.

    Args:
        output: folder to write (default: report in the scale's results)
    """
    from pipeline.page.build import INDEX, build_page
    from pipeline.store.provenance import write_provenance

    target = output or given.page
    missing = build_page(given.config, given.results, target)
    tables = sorted((given.results / "tables").glob("*.csv"))
    write_provenance([target / INDEX], {"scale": given.config.scale, "missing": missing}, given.config.seed, tables)
    for one in missing:
        print(f"not there yet: {one}")
    print((target / INDEX).resolve().as_uri())
