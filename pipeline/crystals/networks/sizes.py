"""The sizes of atoms that networks start from."""

import json
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

TYPICAL = 20.0  # cubic Angstrom of an atom whose element is not known
VOLUMES = Path(__file__).parents[1] / "reference" / "element_volumes.json"


def volumes_of_elements() -> Tensor:
    """Return the room that an atom of each element takes in crystals, cubic Angstrom, float32[94] from Z = 1 on."""
    return torch.tensor(_volumes())


@cache
def _volumes() -> tuple[float, ...]:
    return tuple(json.loads(VOLUMES.read_text("utf-8"))["volumes"])
