"""The verdict on a crystal: how far its energy is above the hull, how far that may be off, and what follows in words.

The hull is that on the scale of the model that computed the energy. If the model has no reference energies, it is the
published one, and there is no verdict: the difference of the two scales is as large as what is to be told apart.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.crystals.chemistry import chemistry_of
from pipeline.crystals.hull import Hull
from pipeline.crystals.uncertainty import uncertainty

STABLE, UNSTABLE, WITHIN = "stable", "unstable", "within the error"


class Scale(NamedTuple):
    """An energy model by the name of its tables, and the hull on its own scale, which may have no points."""

    model: str
    hull: Hull


class Judge(NamedTuple):
    """The scale of another model, and its energies of relaxed crystals by id, in eV/atom."""

    scale: Scale
    energies: Mapping[str, float]


class Place(NamedTuple):
    """Energy above the hull and its uncertainty in eV/atom, verdict in words, and reasons where these are missing."""

    above: float
    reason: str
    uncertainty: float
    verdict: str
    verdict_reason: str


def place(numbers: Sequence[int], energy_per_atom: float, scale: Scale, published: Hull | None) -> Place:
    """Return where the energy of atoms Z by a model lies."""
    error = uncertainty(scale.model, chemistry_of(numbers))
    if not scale.hull.points:
        above, reason = published.above(numbers, energy_per_atom) if published else (math.nan, "no hull")
        return Place(above, reason, error, "", scale.hull.description)
    above, reason = scale.hull.above(numbers, energy_per_atom)
    why = reason or ("" if math.isfinite(error) else f"the errors of {scale.model} were not measured")
    return Place(above, reason, error, verdict(above, error), why)


def verdict(above: float, error: float) -> str:
    """Return whether a crystal is stable, unstable, or too near the hull to tell; empty if a number is missing."""
    if not math.isfinite(above) or not math.isfinite(error):
        return ""
    if above + error <= 0:
        return STABLE
    return UNSTABLE if above - error > 0 else WITHIN
