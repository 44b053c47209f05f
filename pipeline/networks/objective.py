"""What training minimises: the loss of a path at random times, or of the next token.

The rows of a batch lie on the host. An objective moves them to the device of the generator, where the network is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn

from pipeline.config import Run
from pipeline.flow.device import Table
from pipeline.flow.losses import LOSSES, Loss, stratified_times
from pipeline.flow.paths.base import Path
from pipeline.flow.row_terms import row_terms
from pipeline.flow.vocabulary import Places, Vocabulary
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.saved import path_for
from pipeline.tokens.token_data import TokenData

Objective = Callable[[nn.Module, Tensor, torch.Generator], Tensor]  # (network, rows [B, D], noise) -> losses [B, D]


@dataclass(frozen=True)
class FlowObjective:
    """The loss for data x1, given x_t at a random time t in [0, time_end).

    `tokens`: the number of uncertain tokens in a sequence, on average. Losses are scaled so that their mean over all
    positions is the mean over these. If the network `answers_at` some tokens only, it is asked where x1 is uncertain
    given x_t; the other losses are zero.
    """

    path: Path
    loss: Loss
    time_end: float
    tokens: float | None = None
    answers_at: bool = False

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        x1 = rows.to(generator.device, non_blocking=True)
        t = stratified_times(len(x1), generator, end=self.time_end)
        x_t = self.path.sample(x1, t, generator, self._places(rows, x1.device))
        scale = _scale(x1, self.tokens)
        if self._uncertain is None:
            return scale * self.loss(self.path, network(x_t, t.float()), x1, x_t, t)
        uncertain = self._uncertain.on(x1.device)[self.path.vocabulary.kinds_of(x1), x_t]
        at = uncertain.flatten().nonzero().squeeze(-1)  # waits for the device, the only time in a step
        logits, of = network(x_t, t.float(), at=at), at // x1.shape[1]
        losses = self.loss(self.path, logits, x1.flatten()[at], x_t.flatten()[at], t, of)
        everywhere = torch.zeros(x1.numel(), dtype=losses.dtype, device=x1.device)
        return scale * everywhere.index_copy(0, at, losses).view_as(x1)

    def _places(self, rows: Tensor, device: torch.device) -> list[Places] | None:
        """Return where each kind is in the batch if the path asks, found on the host so that nothing waits."""
        if self.path.parts is None:
            return None
        return [
            here if isinstance(here, slice) else here.to(device, non_blocking=True)
            for here in self.path.vocabulary.places_of(rows)
        ]

    @cached_property
    def _uncertain(self) -> Table | None:
        """Whether x1 is uncertain where a position of some kind holds a token, [kinds, K]; None: everywhere."""
        vocabulary = self.path.vocabulary
        tokens, kinds = torch.arange(vocabulary.size), torch.arange(vocabulary.kinds)
        absorbed = self.path.absorbed(tokens.expand(len(kinds), -1), kinds[:, None].expand(-1, len(tokens)))
        possible = vocabulary.targets(kinds)
        certain = absorbed | (possible.sum(-1, keepdim=True) == 1)
        return Table(~certain) if self.answers_at and bool((certain & possible).any()) else None


@dataclass(frozen=True)
class NextTokenObjective:
    """The cross-entropy of each token given those before it, among the tokens of its kind; see FlowObjective."""

    vocabulary: Vocabulary
    tokens: float | None = None

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        x1 = rows.to(generator.device, non_blocking=True)
        logit, log_total, _ = row_terms(self.vocabulary, network(x1), x1, x1)
        return _scale(x1, self.tokens) * (log_total - logit)


def _scale(x1: Tensor, tokens: float | None) -> float:
    return 1.0 if tokens is None else x1.shape[1] / tokens


@dataclass(frozen=True)
class ClassObjective:
    """Another objective, for a network that is told the class of each sequence except for a share `drop` of them.

    Rows are int64[B, D + 1], with the class in the last column. The label `classes` stands for no class.
    """

    objective: Objective
    classes: int
    drop: float

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        dropped = torch.rand(len(rows), generator=generator, device=generator.device) < self.drop
        labels = rows[:, -1].to(generator.device, non_blocking=True).masked_fill(dropped, self.classes)
        return self.objective(partial(network, labels=labels), rows[:, :-1], generator)  # type: ignore[arg-type]


def objective_of(run: Run, data: TokenData, network: nn.Module, conditional: bool = False) -> Objective:
    """Return the objective of a run, scaled so that its mean over all positions is the mean over those without pads.

    For a `conditional` network, the objective takes rows with the class after the tokens.
    """
    tokens = data.tokens_per_sequence()
    objective: Objective
    if run.path is None or run.loss is None:
        objective = NextTokenObjective(data.vocabulary, tokens)
    else:
        loss = LOSSES.bind(run.loss.name, **run.loss.options)
        answers_at = isinstance(network, Denoiser) and network.answers_at
        objective = FlowObjective(path_for(run.path, data), loss, run.training.time_end, tokens, answers_at)
    return ClassObjective(objective, data.classes, run.training.class_drop) if conditional else objective
