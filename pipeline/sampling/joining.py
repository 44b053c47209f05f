"""Shards of samples as one file, joined without torch."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.errors import KinoflowError
from pipeline.store.arrays import read_arrays, write_arrays

AXES = {"tokens": 0, "frames": 1, "labels": 0, "visits": 0}  # of the samples


def join_samples(shards: Sequence[Path], output: Path) -> None:
    """Write the samples of all shards in their order."""
    parts = [read_arrays(path, "samples") for path in shards]
    arrays, description = parts[0]
    first = dict(description["conditions"])
    for _, other in parts:
        if dict(other["conditions"]) != first:
            raise KinoflowError(f"shards of different runs cannot be joined: {first} and {dict(other['conditions'])}")
    found = sum(len(part["tokens"]) for part, _ in parts)
    if found != first["n"]:
        raise KinoflowError(f"{first['run']}: the shards hold {found} of {first['n']} samples; give all of them")
    whole = {name: np.concatenate([part[name] for part, _ in parts], axis=AXES[name]) for name in arrays}
    write_arrays(output, "samples", whole, description)
