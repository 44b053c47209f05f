"""Can results and fetched files be written, and is there space for them?"""

import os
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import Config
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.preflight.findings import Findings
from pipeline.store.atomic import FULL

RESULTS_MINIMUM = 500_000_000  # bytes that must always be free for results; not an estimate
NOT_PLANNED = ("checkpoints", "journals", "logs", "benchmarks", "tensorboard")  # may be from other settings
_PROBE = 1 << 20


@dataclass(frozen=True)
class DiskNeed:
    """Bytes that a run still has to write."""

    results: int
    cache: int


def disk_need(config: Config, awaited: Sequence[str]) -> DiskNeed:
    """Return the least that a run will write: a minimum for results, and the files that are still to be fetched."""
    return DiskNeed(RESULTS_MINIMUM, sum(CATALOGUE[name].size or 0 for name in awaited))


def planned_need(config: Config, awaited: Sequence[str], experiments: Collection[str]) -> DiskNeed:
    """Return what experiments keep by the scale sheet, less what they have already; this takes some seconds."""
    from pipeline.inspect.plan.sheet import sheet_of

    chosen = {name: experiment for name, experiment in config.experiments.items() if name in experiments}
    sheet = sheet_of(config.model_copy(update={"experiments": chosen}))
    needs = [need for experiment in sheet.experiments.values() for need in experiment.disk]
    planned = sum(need.size or 0 for need in needs if need.kept and not need.fetched)
    kinds = [place for place in (Path(config.results) / config.scale).glob("*") if place.name not in NOT_PLANNED]
    own = [entry for kind in kinds for name in chosen for entry in kind.glob(f"{name}*") if _is_of(name, entry)]
    files = [file for entry in own for file in (entry.rglob("*") if entry.is_dir() else [entry])]
    there = sum(file.stat().st_size for file in files if file.is_file())
    least = disk_need(config, awaited)
    return DiskNeed(max(least.results, planned - there), least.cache)


def _is_of(experiment: str, entry: Path) -> bool:
    """Return whether a file or folder of results is named for an experiment, or for one of its further tables."""
    return entry.name == experiment or entry.name[len(experiment)] in "._"


def check_disk(config: Config, need: DiskNeed, awaited: Sequence[str]) -> Findings:
    """Try to write to both directories, and return what is wrong: no rights, or not enough space."""
    found = Findings()
    asked: dict[int, list[tuple[str, Path, int]]] = {}  # by disk: both may be on the same
    for key, folder, size in (
        ("results", Path(config.results), need.results),
        ("data.cache", Path(config.data.cache), need.cache),
    ):
        place = existing_part(folder)
        fault = write_fault(place)
        if fault is None:
            asked.setdefault(place.stat().st_dev, []).append((key, folder, size))
        elif key == "data.cache" and not awaited:
            found.remarks.append(f"{key}: {folder}: {fault}; what is in it is used, but nothing can be added")
        else:
            found.problems.append(f"{key}: {folder}: {fault}; make room or give rights, or name another directory")
    for group in asked.values():
        free, wanted = shutil.disk_usage(existing_part(group[0][1])).free, sum(size for _, _, size in group)
        if free < wanted:
            names = " and ".join(f"{key} ({folder})" for key, folder, _ in group)
            found.problems.append(
                f"{names}: {free / 1e6:.0f} MB free, at least {wanted / 1e6:.0f} MB are needed; make room, or name "
                "another directory"
            )
    return found


def existing_part(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.expanduser().absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def write_fault(folder: Path) -> str | None:
    """Try to write a file to a folder; return why that fails, or None."""
    if not folder.is_dir():
        return f"{folder} is a file"
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".preflight-") as stream:
            stream.write(bytes(_PROBE))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        return f"{folder} is full ({error.strerror})" if error.errno in FULL else f"{folder}: {error.strerror}"
    return None
