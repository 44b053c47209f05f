"""How much faster are crystals described than by matminer's featurisers site by site?

Both ways are those of a worker, after its start. Fingerprints must agree to 1e-9, or there is no answer.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.crystal_sets import training_structures, with_variants
from benchmarks.timing import Comparison, compare
from pipeline.crystals.crystal import Crystal, Floats
from pipeline.crystals.describe import all_of, properties
from pipeline.crystals.fingerprints import FINGERPRINTS, SCALER
from pipeline.crystals.table import Row
from pipeline.store.atomic import read_json

ROUNDING = 1e-9


def answers(count: int = 100) -> list[Comparison]:
    """Compare both ways on some structures; 500 take about five minutes."""
    real = training_structures()
    return [
        _answer("training structures", real[:: max(1, len(real) // count)][:count]),
        _answer("structures, moved, in larger cells", with_variants(real, count)),
    ]


def _answer(case: str, crystals: Sequence[Crystal]) -> Comparison:
    found: dict[str, list[Row]] = {}

    def describe(way: Callable[[Crystal], Row], name: str) -> None:
        found[name] = [way(crystal) for crystal in crystals]

    comparison = compare(
        f"{len(crystals)} {case}",
        ("matminer", lambda: describe(before, "matminer")),
        ("arrays", lambda: describe(all_of, "arrays")),
        repeats=1,
    )
    both = zip(found["matminer"], found["arrays"], strict=True)
    worst = max(float(np.abs(np.subtract(old[name], new[name])).max()) for old, new in both for name in FINGERPRINTS)
    if worst > ROUNDING:
        raise AssertionError(f"fingerprints differ by {worst:.1e}")
    return replace(comparison, note=f"largest difference {worst:.0e}")


def before(crystal: Crystal) -> Row:
    """Return the description of a crystal as it was computed before the arrays."""
    with warnings.catch_warnings(action="ignore"):
        values = (_composition(crystal), _structure(crystal))
    return properties(crystal) | dict(zip(FINGERPRINTS, (one.tolist() for one in values), strict=True))


def _composition(crystal: Crystal) -> Floats:
    from pymatgen.core import Composition, Element

    constants = _constants()
    elements = Composition({Element.from_Z(z): count for z, count in crystal.composition.items()})
    values = np.asarray(_featurisers()[0].featurize(elements), dtype=np.float64)
    return (values - constants["means"]) / constants["deviations"]


def _structure(crystal: Crystal) -> Floats:
    structure = crystal.structure()
    sites = [_featurisers()[1].featurize(structure, site) for site in range(len(structure))]
    return np.mean(np.asarray(sites, dtype=np.float64), axis=0)


@cache
def _featurisers() -> tuple[Any, Any]:
    from matminer.featurizers.composition import ElementProperty
    from matminer.featurizers.site.fingerprint import CrystalNNFingerprint

    return ElementProperty.from_preset("magpie", impute_nan=False), CrystalNNFingerprint.from_preset("ops")


@cache
def _constants() -> dict[str, Floats]:
    return {name: np.asarray(values) for name, values in read_json(SCALER).items() if name != "source"}
