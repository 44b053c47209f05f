"""Damaged artefacts and journals of our own are read, or refused by their name; no edited journal changes a result."""

from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

import torch
from apart import Attempt
from damage import damaged, steps
from hypothesis import strategies as st
from world import World

from pipeline.sampling.samples import SampleSet
from pipeline.store.journal import Journal
from pipeline.store.tensor_journal import TensorJournal

ENTRIES = {0: {"energy": 1.25, "id": "c1"}, "block-1": [1, 2.5, "x"], 7: None}


def test_journals(holds: Callable[..., None], folder: Path) -> None:
    journal = Journal(folder / "journal", "this")
    for key, value in ENTRIES.items():
        journal.add(key, value)
    content = journal.path.read_bytes()

    def work() -> None:
        copy = folder / "out" / "journal"
        copy.mkdir()
        (copy / journal.path.name).write_bytes((folder / "in" / "journal").read_bytes())
        found = Journal(copy, "this")
        assert all(ENTRIES[key] == value for key, value in found.entries.items()), "an edited entry counts"
        found.add("more", 1)
        again = Journal(copy, "this").entries
        assert again == found.entries

    def faults(changes: list[Any]) -> list[str]:
        (folder / "in" / "journal").write_bytes(damaged(content, changes))
        return Attempt(folder, work).faults()

    holds(steps(), faults, few=20)


def test_journals_of_tensors(holds: Callable[..., None], folder: Path) -> None:
    tensors = {"tokens": torch.arange(40).reshape(10, 4), "visits": torch.arange(10, dtype=torch.int32)}
    TensorJournal(folder / "journal", "this").keep("block-0", tensors)
    (kept,) = (folder / "journal").iterdir()
    content = kept.read_bytes()

    def work() -> None:
        copy = folder / "out" / "journal"
        copy.mkdir()
        (copy / kept.name).write_bytes((folder / "in" / "kept").read_bytes())
        found = TensorJournal(copy, "this").kept("block-0")
        same = found is None or (
            found.keys() == tensors.keys() and all(torch.equal(found[name], tensors[name]) for name in tensors)
        )
        assert same, "an edited tensor counts"

    def faults(changes: list[Any]) -> list[str]:
        (folder / "in" / "kept").write_bytes(damaged(content, changes))
        return Attempt(folder, work).faults()

    holds(steps(), faults, few=20)


def test_artefacts(holds: Callable[..., None], folder: Path, world: World) -> None:
    """Tokens, weights and samples, sampled from and scored."""
    out, given = folder / "out" / "result", folder / "in"
    tokens, weights = world.tokens("checkerboard"), world.at("models", "checkerboard/metric.safetensors")
    experiment = ("--experiment", "checkerboard")
    samples, scores = world.folder / "samples", world.folder / "scores.json"
    with (world.folder / "log").open("w") as log, redirect_stderr(log):
        drawn = ("--run", "metric", "--tokens", tokens, "--weights", weights, "--output", samples)
        assert world.run("sample", *experiment, *drawn) == 0
        assert world.run("score", *experiment, "--samples", samples, "--tokens", tokens, "--output", scores) == 0
    good = {"tokens": tokens, "weights": weights, "samples": samples, "scores": scores}
    contents = {name: path.read_bytes() for name, path in good.items()}
    files = {"csv": "t.csv", "markdown": "t.md", "numbers": "n.json"}
    table = [part for flag, name in files.items() for part in (f"--{flag}", folder / "out" / name)]

    def faults(case: tuple[str, list[Any]]) -> list[str]:
        name, changes = case
        content = contents[name]
        head = content[: 8 + int.from_bytes(content[:8], "little")] if name != "scores" else content
        (given / name).write_bytes(damaged(head, changes) + content[len(head) :])
        if name == "scores":
            work = partial(world.run, "table", *experiment, *table, "--scores", given / name)
            return Attempt(folder, work, names=(str(given / name),)).faults()
        now = good | {name: given / name}
        if name == "samples":
            further = ("--samples", now["samples"], "--tokens", tokens, "--output", out)
            return Attempt(folder, partial(world.run, "score", *experiment, *further), names=(name,)).faults()
        further = ("--run", "metric", "--tokens", now["tokens"], "--weights", now["weights"], "--output", out)
        return Attempt(
            folder, partial(world.run, "sample", *experiment, *further), lambda: SampleSet.load(out), (name,)
        ).faults()

    holds(st.tuples(st.sampled_from(sorted(good)), steps()), faults, few=12)
