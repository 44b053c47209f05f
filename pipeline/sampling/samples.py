"""Sets of samples in safetensors files: tokens, tokens along the way, and how they were drawn."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pipeline.store.tensors import read_tensors, write_tensors


@dataclass(frozen=True)
class SampleSet:
    """Tokens [N, D], conditions for tables (run, n, NFE, ...), and frames: the tokens at some `times`, [F, N, D].

    If the network is told classes, `labels` are the requested classes [N].
    """

    tokens: Tensor
    conditions: dict[str, Any]
    times: tuple[float, ...] = ()
    frames: Tensor = field(default_factory=lambda: torch.empty(0, 0, 0))
    labels: Tensor | None = None

    def save(self, path: Path) -> None:
        """Write the file."""
        tensors = {"tokens": self.tokens.to(torch.int32), "frames": self.frames.to(torch.int32)}
        tensors |= {} if self.labels is None else {"labels": self.labels.to(torch.int32)}
        write_tensors(path, "samples", tensors, {"conditions": list(self.conditions.items()), "times": self.times})

    @classmethod
    def load(cls, path: Path, *, with_tokens: bool = True) -> "SampleSet":
        """Read the file; tokens and frames may be large, and are left out if not wanted."""
        tensors, description = read_tensors(path, "samples")
        conditions, times = dict(description["conditions"]), tuple(description["times"])
        labels = tensors["labels"].long() if "labels" in tensors else None
        tokens, frames = tensors["tokens"], tensors["frames"]
        if not with_tokens:
            tokens, times, frames = tokens[:, :0], (), frames[:0]
        return cls(tokens.long(), conditions, times, frames.long(), labels)
