"""After a fault at any write of a stage, the next run gives the bytes of a calm one.

`make test` tries a few faults of each stage, and `make faults` every one.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from injection import faults_of
from stage_runs import StageRun
from world import World

from pipeline.crystals import workers
from pipeline.crystals.energy_models.chgnet import load_chgnet

ALL = "KINOFLOW_FAULTS"  # "all": every fault
FEW = 4
EXPERIMENT = ("--experiment", "checkerboard")
SMALL: dict[str, Any] = {
    "training": {"steps": 4, "batch": 32, "checkpoint_every": 2, "validate_every": 2, "log_every": 2},
    "sampling": {"count": 30, "steps": 3, "block": 10, "shards": 1},
}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what all stages need: tokens, weights, samples and scores, and crystals."""
    world = World.begun(tmp_path_factory.mktemp("start"))
    file = world.folder / "tiny.yaml"
    config = yaml.safe_load(file.read_text())
    config["experiments"]["checkerboard"] |= SMALL
    file.write_text(yaml.safe_dump(config))
    folder = world.folder
    assert world.run("prepare", *EXPERIMENT, "--output", folder / "tokens") == 0
    assert train(folder, "given") == 0
    assert sample(folder, "given") == 0
    assert score(folder, "given") == 0
    rows = ("--output", folder / "crystal_tokens", "--rows", folder / "rows")
    assert world.run("prepare", "--experiment", "materials", *rows) == 0
    return folder


def run(folder: Path, command: str, *flags: object) -> int:
    return World(folder).run(command, *flags)


def train(folder: Path, name: str = "made") -> int:
    made = {"weights": "weights", "metrics": "metrics", "history": "history", "checkpoints": "checkpoints"}
    flags = [part for flag, file in made.items() for part in (f"--{flag}", folder / f"{name}_{file}")]
    return run(folder, "train", *EXPERIMENT, "--run", "mask_linear", "--tokens", folder / "tokens", *flags)


def sample(folder: Path, name: str = "made") -> int:
    given = ("--run", "mask_linear", "--tokens", folder / "tokens", "--weights", folder / "given_weights")
    made = ("--output", folder / f"{name}_samples", "--journal", folder / "journal")
    return run(folder, "sample", *EXPERIMENT, *given, *made)


def score(folder: Path, name: str = "made") -> int:
    given = ("--samples", folder / "given_samples", "--tokens", folder / "tokens")
    made = ("--output", folder / f"{name}_scores", "--journal", folder / "journal")
    return run(folder, "score", *EXPERIMENT, *given, "--weights", folder / "given_weights", *made)


def table(folder: Path) -> int:
    made = {flag: folder / f"made_{flag}" for flag in ("csv", "markdown", "numbers")}
    flags = [part for flag, file in made.items() for part in (f"--{flag}", file)]
    return run(folder, "table", *EXPERIMENT, *flags, "--scores", folder / "given_scores")


def relax(folder: Path) -> int:
    made = ("--output", folder / "made_relaxed", "--journal", folder / "journal")
    count = "experiments.materials.crystals.relaxation.count=3"
    return run(folder, "relax", "--experiment", "materials", "--crystals", folder / "rows", *made, "--set", count)


STAGES: dict[str, tuple[Callable[[Path], int], tuple[str, ...]]] = {
    "train": (train, ("made_weights", "made_metrics", "made_history")),
    "sample": (sample, ("made_samples",)),
    "score": (score, ("made_scores",)),
    "table": (table, ("made_csv", "made_markdown", "made_numbers")),
    "relax": (relax, ("made_relaxed",)),
}


@pytest.fixture
def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute tasks in the process that keeps the journal: a worker takes seconds to start, and writes nothing."""
    calculator = load_chgnet()

    def tasks(function: Any, items: Any, positions: Any, **how: Any) -> Iterator[tuple[int, Any]]:
        for position in positions:
            yield position, workers.Outcome(function(calculator, items[position]), "")

    monkeypatch.setattr(workers, "_try_tasks", tasks)


@pytest.mark.usefixtures("without_workers")
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_after_a_fault_at_a_write_gives_the_bytes_of_a_calm_one(
    start: Path, tmp_path: Path, stage: str, record_property: Callable[[str, Any], None]
) -> None:
    one = StageRun(start, *STAGES[stage])
    calm, writes = one.calm(tmp_path / "run")
    assert set(calm) == set(one.outputs)
    every = faults_of(writes)
    chosen = every if os.environ.get(ALL) == "all" else every[:: len(every) // FEW]
    wrong = [fault for point in chosen for fault in one.faults(tmp_path / "run", point, calm)]
    record_property("faults", (stage, len(writes), len(chosen), len(every), len(wrong)))
    assert not wrong, "\n".join(wrong)
