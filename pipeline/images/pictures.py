"""Sets of pictures in safetensors files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pipeline.store.tensors import read_tensors, write_tensors


@dataclass(frozen=True)
class Pictures:
    """Pictures bytes[N, H, W, C] of a run or reference, and the requested classes [N], if any."""

    images: Tensor
    conditions: dict[str, Any]
    labels: Tensor | None = None

    def save(self, path: Path) -> None:
        tensors = {"pictures": self.images} | ({} if self.labels is None else {"labels": self.labels.to(torch.int32)})
        write_tensors(path, "pictures", tensors, {"conditions": list(self.conditions.items())})

    @classmethod
    def load(cls, path: Path) -> "Pictures":
        tensors, description = read_tensors(path, "pictures")
        labels = tensors["labels"].long() if "labels" in tensors else None
        return cls(tensors["pictures"], dict(description["conditions"]), labels)
