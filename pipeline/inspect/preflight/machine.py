"""Does this machine have the disk space, the GPUs, the package versions and the potentials that a run needs?"""

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from pipeline.config import Config
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.preflight.findings import Findings
from pipeline.stages.job import Need
from pipeline.store.atomic import FULL
from pipeline.store.packages import fault_of
from pipeline.store.shipped import SHIPPED

RESULTS_MINIMUM = 500_000_000  # bytes that must always be free for results; not an estimate
NOT_PLANNED = ("checkpoints", "journals", "logs", "benchmarks", "tensorboard")  # may be from other settings
PINS = SHIPPED / "envs" / "requirements.txt"
ELSEWHERE = "or submit the jobs to a cluster (snakemake --profile slurm)"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)
_PROBE = 1 << 20
_SHOWN = 10


def results_need(config: Config, new: Collection[str]) -> int:
    """Return the bytes that must be free for results.

    New experiments need what they keep by the scale sheet, which takes some seconds, less what they have already.
    """
    if not new:
        return RESULTS_MINIMUM
    from pipeline.inspect.plan.sheet import sheet_of

    chosen = {name: experiment for name, experiment in config.experiments.items() if name in new}
    sheet = sheet_of(config.model_copy(update={"experiments": chosen}))
    needs = [need for experiment in sheet.experiments.values() for need in experiment.disk]
    planned = sum(need.size or 0 for need in needs if need.kept and not need.fetched)
    kinds = [place for place in (Path(config.results) / config.scale).glob("*") if place.name not in NOT_PLANNED]
    # Files and folders are named for an experiment, or for one of its further tables.
    entries = [(name, entry) for kind in kinds for name in chosen for entry in kind.glob(f"{name}*")]
    own = [entry for name, entry in entries if entry.name == name or entry.name[len(name)] in "._"]
    files = [file for entry in own for file in (entry.rglob("*") if entry.is_dir() else [entry])]
    return max(RESULTS_MINIMUM, planned - sum(file.stat().st_size for file in files if file.is_file()))


def check_disk(config: Config, results: int, awaited: Sequence[str], found: Findings) -> None:
    """Try to write to both directories, and add what is wrong: no rights, or not enough space.

    There must be space for the bytes of `results`, and for the files that are `awaited` in the cache.
    """
    fetched = sum(CATALOGUE[name].size or 0 for name in awaited)
    asked: dict[int, list[tuple[str, Path, int]]] = {}  # by disk: both may be on the same
    for key, folder, size in (("results", config.results, results), ("data.cache", config.data.cache, fetched)):
        whole = Path(folder).expanduser().absolute()
        place = next(path for path in (whole, *whole.parents) if path.exists())
        fault = _write_fault(place)
        what = f"{key}: {Path(folder)}: {fault}"
        if fault is None:
            asked.setdefault(place.stat().st_dev, []).append((f"{key} ({Path(folder)})", place, size))
        elif key == "data.cache" and not awaited:
            found.remarks.append(f"{what}; what is in it is used, but nothing can be added")
        else:
            found.problems.append(f"{what}; make room or give rights, or name another directory")
    for group in asked.values():
        free, wanted = shutil.disk_usage(group[0][1]).free, sum(size for _, _, size in group)
        if free < wanted:
            found.problems.append(
                f"{' and '.join(name for name, _, _ in group)}: {free / 1e6:.0f} MB free, at least "
                f"{wanted / 1e6:.0f} MB are needed; make room, or name another directory"
            )


def _write_fault(folder: Path) -> str | None:
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


def missing_gpus(needs: Sequence[Need]) -> Iterator[str]:
    """Yield which parts ask for more GPUs than jobs on this machine would see."""
    if not any(need.gpus for need in needs):
        return  # without importing torch
    import torch

    from pipeline.networks.devices import place

    seen = torch.cuda.device_count()
    if more := _largest((need.key, need.gpus) for need in needs if need.gpus > seen):
        yield f"{place()} shows {seen} GPUs, but {more}; lower them (0 is the CPU), {ELSEWHERE}"


def missing_nodes(needs: Sequence[Need]) -> Iterator[str]:
    """Yield which parts ask for several nodes, of which this machine is one."""
    if more := _largest((need.key, need.nodes) for need in needs if need.nodes > 1):
        yield f"this machine is one node, but {more}; set them to 1, {ELSEWHERE}"


def missing_packages(needs: Sequence[Need]) -> Iterator[str]:
    """Yield which packages are missing, or have versions that do not work, with the keys that ask for them."""
    keys: dict[str, list[str]] = {}
    for need in needs:
        for package in need.packages:
            keys.setdefault(package, []).append(need.key)
    for package, asking in keys.items():
        if fault := fault_of(package):
            yield f"{', '.join(dict.fromkeys(asking))}: {fault}, or choose another name"


def _largest(asked: Iterable[tuple[str, int]]) -> str:
    """Return what is asked for as `key = number`; of the runs of an experiment only the first that asks for most."""
    most: dict[str, tuple[str, int]] = {}
    for key, number in asked:
        alike = re.sub(r"\.runs\.\w+\.", ".runs.", key)
        if alike not in most or number > most[alike][1]:
            most[alike] = key, number
    return ", ".join(f"{key} = {number}" for key, number in most.values())


def other_packages(pins: Path = PINS) -> Iterator[str]:
    """Yield which installed packages differ from the locked ones; the build, such as +cpu, does not matter.

    The lock has those of tests and checks, too. A package that is not installed is no difference: nothing can use it.
    """
    if not pins.is_file():
        yield f"{pins}: no such file, so versions of packages were not compared"
        return
    others = []
    for name, pinned in _PIN.findall(pins.read_text(encoding="utf-8")):
        try:
            installed = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
        if installed != pinned.partition("+")[0]:
            others.append(f"{name} {installed} (pinned: {pinned})")
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        yield f"packages differ from {pins.name}, and results may: {', '.join(others[:_SHOWN])}{more}"


def missing_potentials() -> Iterator[str]:
    """Yield a remark if pymatgen finds no VASP potentials; the user needs a licence for them."""
    from pymatgen.core import SETTINGS

    folder = SETTINGS.get("PMG_VASP_PSP_DIR")
    if not (folder and os.path.isdir(folder)):
        what = f"PMG_VASP_PSP_DIR = {folder} is no directory" if folder else "PMG_VASP_PSP_DIR is not set"
        yield f"{what}: `dft-inputs` will write POTCAR.spec, not POTCAR; VASP's potentials come with its licence"
