"""Where figures come from: the provenance of the files that each row was made from, for the page."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.config import Experiment
from pipeline.store.places import Place
from pipeline.store.provenance import read_record, sidecar_of

KEPT = ("seed", "code", "python", "device", "host", "started", "wall_seconds", "peak_memory_mb", "resumed", "settings")
DIGITS = 16  # of a checksum


def files_behind(results: Path, experiment: str, block: Experiment, name: str) -> list[Path]:
    """Return the files behind a row of the table, the last one first; some may not be there yet."""
    run = block.runs.get(name)
    trained = [(run.weights or name) if run else ""]
    places = [Place.SCORES, Place.STRUCTURES, Place.RELAXED, Place.SAMPLES]
    files = [place.under(results, ending_of(place), experiment=experiment, name=name) for place in places]
    files += [Place.WEIGHTS.under(results, experiment=experiment, name=one) for one in trained if one]
    return [*files, Place.TOKENS.under(results, experiment=experiment)]


def ending_of(place: Place) -> str:
    """Return the ending of the file of a place that has several."""
    return ".parquet" if place is Place.STRUCTURES else ""


def records_of(files: Iterable[Path], results: Path) -> dict[str, dict[str, Any]]:
    """Return how each file that is there was made: settings, seed, code, inputs, command, machine and time."""
    found = {}
    for file in files:
        if sidecar_of(file).is_file():
            record = read_record(file)
            found[str(file.relative_to(results))] = {
                "sha256": record["sha256"][:DIGITS],
                "command": " ".join(record["command"]),
                "inputs": {path: known[:DIGITS] for path, known in record["inputs"].items()},
                **{key: record[key] for key in KEPT if key in record},
            }
    return found
