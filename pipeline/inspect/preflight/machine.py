"""Does this machine have the GPUs, the package versions and the potentials that a run needs?"""

import os
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from pipeline.inspect.preflight.findings import Findings
from pipeline.stages.job import Need

PINS = Path(__file__).parents[3] / "envs" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)
_SHOWN = 10
_RUN = re.compile(r"\.runs\.\w+\.")


def check_gpus_here(needs: Sequence[Need]) -> Findings:
    """Return which parts ask for more GPUs than jobs on this machine would see."""
    asking = [need for need in needs if need.gpus]
    if not asking:
        return Findings()  # without importing torch
    import torch

    from pipeline.networks.devices import place

    seen = torch.cuda.device_count()
    if not (more := _largest((need.key, need.gpus) for need in asking if need.gpus > seen)):
        return Findings()
    advice = "lower them (0 is the CPU), or submit the jobs to a cluster (snakemake --profile slurm)"
    return Findings([f"{place()} shows {seen} GPUs, but {', '.join(more)}; {advice}"])


def check_nodes_here(needs: Sequence[Need]) -> Findings:
    """Return which parts ask for several nodes, of which this machine is one."""
    asking = _largest((need.key, need.nodes) for need in needs if need.nodes > 1)
    advice = "set them to 1, or submit the jobs to a cluster (snakemake --profile slurm)"
    return Findings([f"this machine is one node, but {', '.join(asking)}; {advice}"] if asking else [])


def _largest(asked: Iterable[tuple[str, int]]) -> list[str]:
    """Return what is asked for as `key = number`; of the runs of an experiment only the first that asks for most."""
    most: dict[str, tuple[str, int]] = {}
    for key, number in asked:
        alike = _RUN.sub(".runs.", key)
        if alike not in most or number > most[alike][1]:
            most[alike] = key, number
    return [f"{key} = {number}" for key, number in most.values()]


def check_packages(pins: Path = PINS) -> Findings:
    """Return which installed packages differ from the locked ones; the build, such as +cpu, does not matter."""
    if not pins.is_file():
        return Findings(remarks=[f"{pins}: no such file, so versions of packages were not compared"])
    others = []
    for name, pinned in _PIN.findall(pins.read_text(encoding="utf-8")):
        try:
            installed = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            installed = "none"
        if installed != pinned.partition("+")[0]:
            others.append(f"{name} {installed} (pinned: {pinned})")
    if not others:
        return Findings()
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    shown = ", ".join(others[:_SHOWN])
    return Findings(remarks=[f"packages differ from {pins.name}, and results may: {shown}{more}"])


def check_potentials() -> Findings:
    """Return a remark if pymatgen finds no VASP potentials; the user needs a licence for them."""
    from pymatgen.core import SETTINGS

    folder = SETTINGS.get("PMG_VASP_PSP_DIR")
    if folder and os.path.isdir(folder):
        return Findings()
    what = f"PMG_VASP_PSP_DIR = {folder} is no directory" if folder else "PMG_VASP_PSP_DIR is not set"
    return Findings(
        remarks=[f"{what}: `dft-inputs` will write POTCAR.spec, not POTCAR; VASP's potentials come with its licence"]
    )
