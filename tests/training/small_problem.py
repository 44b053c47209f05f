"""A small training problem."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from pipeline.config import Training
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import build_path
from pipeline.known.datasets.checkerboard import Options, prepare
from pipeline.known.networks import mlp
from pipeline.networks.objective import FlowObjective
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import Fitted, fit


@dataclass
class Disturbed:
    """An objective, and what happens to its losses in the n-th training batch."""

    objective: FlowObjective
    at: int
    disturbance: Callable[[Tensor], Tensor]
    batches: int = 0

    def __call__(self, network: nn.Module, x1: Tensor, generator: torch.Generator) -> Tensor:
        losses = self.objective(network, x1, generator)
        self.batches += network.training
        return self.disturbance(losses) if network.training and self.batches == self.at else losses


class Problem:
    """A network to be trained on a small board; calls take up the checkpoints of earlier ones."""

    def __init__(self, folder: Path, dropout: float = 0.2) -> None:
        self.folder, self.dropout = folder, dropout
        self.data = prepare(Options(levels=8, squares=2, train=100, validation=20, test=10), seed=0, cache=folder)
        path = build_path("uniform", self.data.vocabulary)
        self.objective = FlowObjective(path, LOSSES.get("cross_entropy"), 0.999)

    def checkpoints(self, fingerprint: str = "a") -> Checkpoints:
        return Checkpoints(self.folder / "checkpoints", fingerprint)

    def network(self) -> nn.Module:
        torch.manual_seed(0)
        return mlp.build(mlp.Options(width=16, depth=1, dropout=self.dropout), self.data.vocabulary, self.data.length)

    def train(
        self, objective: Any = None, fingerprint: str = "a", fabric: Fabric | None = None, **training: Any
    ) -> Fitted:
        values = {"steps": 20, "batch": 24, "warmup": 5, "log_every": 4, "validate_every": 10} | training
        return fit(
            fabric or Fabric(accelerator="cpu", devices=1),
            self.network(),
            objective or self.objective,
            self.data.train,
            self.data.validation,
            Training(**values),
            seed=7,
            checkpoints=self.checkpoints(fingerprint),
        )

    def disturbed(self, at: int, disturbance: Callable[[Tensor], Tensor]) -> Disturbed:
        return Disturbed(self.objective, at, disturbance)
