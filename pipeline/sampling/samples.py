"""Sets of samples in safetensors files: tokens, tokens on their way, and the conditions they were drawn under."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from pipeline.atomic import replacing
from pipeline.flow.errors import KinoflowError


@dataclass(frozen=True)
class SampleSet:
    """Tokens [N, D], what tables say of them (run, n, NFE, ...), and frames: the tokens at some `times`, [F, N, D]."""

    tokens: Tensor
    conditions: dict[str, Any]
    times: tuple[float, ...] = ()
    frames: Tensor = field(default_factory=lambda: torch.empty(0, 0, 0))

    def save(self, path: Path) -> None:
        """Write the file."""
        tensors = {"tokens": self.tokens.to(torch.int32), "frames": self.frames.to(torch.int32).contiguous()}
        metadata = {"conditions": json.dumps(self.conditions), "times": json.dumps(self.times)}
        with replacing(path) as temporary:
            save_file(tensors, temporary, metadata=metadata)

    @classmethod
    def load(cls, path: Path) -> "SampleSet":
        """Read the file."""
        with safe_open(path, framework="pt") as file:
            conditions, times = (json.loads(file.metadata()[key]) for key in ("conditions", "times"))
            return cls(file.get_tensor("tokens").long(), conditions, tuple(times), file.get_tensor("frames").long())


def joined(parts: Sequence[SampleSet]) -> SampleSet:
    """Return the samples of all shards in their order."""
    first = parts[0].conditions
    for part in parts:
        if part.conditions != first:
            raise KinoflowError(f"shards of different runs cannot be joined: {first} and {part.conditions}")
    tokens = torch.cat([part.tokens for part in parts])
    if len(tokens) != first["n"]:
        raise KinoflowError(f"{first['run']}: the shards hold {len(tokens)} of {first['n']} samples; give all of them")
    return SampleSet(tokens, first, parts[0].times, torch.cat([part.frames for part in parts], dim=1))
