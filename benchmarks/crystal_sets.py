"""Structures of Matbench's dielectric task for the benchmarks on crystals, also shaken and in larger cells."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.crystals.crystal import Crystal
from pipeline.crystals.datasets.matbench_dielectric import FILES, Options, read
from pipeline.crystals.table import crystals_of
from pipeline.fetch.fetching import fetch_by_name

CACHE = Path(__file__).parents[1] / "data" / "cache"
NOISE = 0.02  # of fractions


def training_structures(max_atoms: int = 20) -> list[Crystal]:
    """Return the structures of the training split; they are fetched if they are not in the data cache."""
    if not (CACHE / FILES[0]).exists():
        fetch_by_name(FILES[0].split("/")[0], CACHE)
    rows = read(Options(max_atoms=max_atoms), 0, CACHE)
    usable = rows[(rows["reason"] == "") & (rows["split"] == "train")]
    return [crystal for crystal in crystals_of(usable) if crystal is not None]


def with_variants(crystals: Sequence[Crystal], count: int) -> list[Crystal]:
    """Return `count` crystals in turn: one as it is, one shaken, one in a cell of twice the length."""
    draw, found = np.random.default_rng(0), list[Crystal]()
    step = max(1, len(crystals) // -(-count // 3))
    for number, crystal in enumerate(crystals[::step]):
        found += [crystal, shaken(crystal, draw), doubled(crystal, number % 3)]
    return found[:count]


def shaken(crystal: Crystal, draw: np.random.Generator) -> Crystal:
    """Return a crystal with sides that differ by up to 3 % and moved atoms."""
    lengths = crystal.lengths * draw.uniform(0.97, 1.03, 3)
    fractions = crystal.fractions + draw.normal(0, NOISE, crystal.fractions.shape)
    return Crystal(f"{crystal.id} shaken", lengths, crystal.angles, crystal.numbers, fractions)


def doubled(crystal: Crystal, axis: int) -> Crystal:
    """Return the same crystal in a cell of twice the length along an axis."""
    factors, half = 1 + np.eye(3)[axis], 0.5 * np.eye(3)[axis]
    first = crystal.fractions / factors
    numbers = np.concatenate([crystal.numbers, crystal.numbers])
    fractions = np.concatenate([first, first + half])
    return Crystal(f"{crystal.id} doubled", crystal.lengths * factors, crystal.angles, numbers, fractions)
