"""How far the energies of a model are off, as measured on structures with known formation energies.

The table is made by `python -m pipeline calibrate-models`. Its structures are from the Materials Project, as are those
that the models were trained on, and were relaxed by DFT. So errors for other crystals may be larger.
"""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "reference" / "calibration.json"
FEW = 30  # structures; the errors of a chemistry with fewer are those of all


def uncertainty(model: str, chemistry: str) -> float:
    """Return what 68 % of a model's absolute errors are at most in a chemistry, in eV/atom; NaN: it was not measured.

    `model` is the name of an :class:`EnergyModel`, `chemistry` one of the CHEMISTRIES.
    """
    known = _measured().get(model)
    if known is None:
        return math.nan
    errors = known["errors"]
    found = errors.get(chemistry, {"n": 0})
    return float((found if found["n"] >= FEW else errors["all"])["quantile"])


@cache
def _measured() -> dict[str, Any]:
    models: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))["models"]
    return models
