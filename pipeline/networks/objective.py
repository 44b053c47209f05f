"""What training minimises: the loss of a path at random times, or of the next token."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from pipeline.config import Run
from pipeline.flow.losses import LOSSES, Loss, stratified_times
from pipeline.flow.paths.base import Path
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import path_for
from pipeline.tokens.token_data import TokenData

Objective = Callable[[nn.Module, Tensor, torch.Generator], Tensor]  # (network, x1 [B, D], noise) -> losses [B, D]


@dataclass(frozen=True)
class FlowObjective:
    """The loss for data x1, given x_t at a random time t in [0, time_end), times `scale`."""

    path: Path
    loss: Loss
    time_end: float
    scale: float = 1.0

    def __call__(self, network: nn.Module, x1: Tensor, generator: torch.Generator) -> Tensor:
        t = stratified_times(len(x1), generator, end=self.time_end).to(x1.device)
        x_t = self.path.sample(x1, t, generator)
        return self.scale * self.loss(self.path, network(x_t, t.float()), x1, x_t, t)


@dataclass(frozen=True)
class NextTokenObjective:
    """The cross-entropy of each token given those before it, among the tokens of its kind, times `scale`."""

    vocabulary: Vocabulary
    scale: float = 1.0

    def __call__(self, network: nn.Module, x1: Tensor, generator: torch.Generator) -> Tensor:
        possible = self.vocabulary.targets(self.vocabulary.kinds_of(x1))
        log_prob = network(x1).float().masked_fill(~possible, -torch.inf).log_softmax(-1)
        return -self.scale * log_prob.gather(-1, x1[..., None]).squeeze(-1)


@dataclass(frozen=True)
class ClassObjective:
    """Another objective, for a network that is told the class of each sequence except for a share `drop` of them.

    Rows are int64[B, D + 1], with the class in the last column. The label `classes` stands for no class.
    """

    objective: Objective
    classes: int
    drop: float

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        dropped = torch.rand(len(rows), generator=generator).to(rows.device) < self.drop
        labels = rows[:, -1].masked_fill(dropped, self.classes)
        return self.objective(partial(network, labels=labels), rows[:, :-1], generator)  # type: ignore[arg-type]


def objective_of(run: Run, data: TokenData, conditional: bool = False) -> Objective:
    """Return the objective of a run, scaled so that its mean over all positions is the mean over those without pads.

    For a `conditional` network, the objective takes rows with the class after the tokens.
    """
    scale = data.length / data.tokens_per_sequence()
    objective: Objective
    if run.path is None or run.loss is None:
        objective = NextTokenObjective(data.vocabulary, scale)
    else:
        loss = LOSSES.bind(run.loss.name, **run.loss.options)
        objective = FlowObjective(path_for(run.path, data), loss, run.training.time_end, scale)
    return ClassObjective(objective, data.classes, run.training.class_drop) if conditional else objective
