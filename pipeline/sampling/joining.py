"""Shards of samples as one file, joined without torch, and in memory that does not grow with the samples."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.errors import KinoflowError
from pipeline.store.arrays import read_description
from pipeline.store.parts import copy_rows, reading, writing

KIND = "samples"
AXES = {"tokens": 0, "frames": 1, "labels": 0, "visits": 0}  # of the samples


def join_samples(shards: Sequence[Path], output: Path) -> None:
    """Write the samples of all shards in their order."""
    descriptions = [read_description(path, KIND) for path in shards]  # checks the files
    first = dict(descriptions[0]["conditions"])
    for other in descriptions:
        if dict(other["conditions"]) != first:
            raise KinoflowError(f"shards of different runs cannot be joined: {first} and {dict(other['conditions'])}")
    with ExitStack() as opened:
        parts = [opened.enter_context(reading(path, AXES)) for path in shards]
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + part.shapes["tokens"][0])
        if starts[-1] != first["n"]:
            raise KinoflowError(
                f"{first['run']}: the shards hold {starts[-1]} of {first['n']} samples; give all of them"
            )
        shapes = {
            name: (*shape[: AXES[name]], starts[-1], *shape[AXES[name] + 1 :])
            for name, shape in parts[0].shapes.items()
        }
        with writing(output, KIND, shapes, AXES, descriptions[0]) as whole:
            for start, part in zip(starts[:-1], parts, strict=True):
                for name in shapes:
                    copy_rows(part, whole, name, start)
