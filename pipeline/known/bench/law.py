"""The law of a sampler itself, over all sequences: no samples, so no sampling error.

Letters in shapes: U distributions, S sequences, D tokens of each, C tokens that are data, K tokens.
"""

from itertools import pairwise

import torch
from torch import Tensor

from pipeline.flow.grids import GRIDS
from pipeline.flow.paths import Path
from pipeline.flow.posterior import constrain
from pipeline.flow.steps import Transition
from pipeline.known.bench.rows import Row
from pipeline.known.bench.truth import Truth
from pipeline.sampling.correctors import corrector_of


class Laws:
    """Laws of samplers on one path; posteriors are kept, because many samplers ask for the same ones."""

    def __init__(self, truth: Truth, path: Path) -> None:
        self._truth, self._path, self._model = truth, path, truth.posterior(path)
        self._source, self._length = path.source(torch.zeros((), dtype=torch.int64)).exp(), truth.length
        is_data = path.vocabulary.kind_of.values >= 0
        self._data = is_data.nonzero().squeeze(-1)
        self._tokens = (is_data | (self._source > 0)).nonzero().squeeze(-1)  # those that x_t may hold
        self._states = torch.cartesian_prod(*[self._tokens] * self._length).view(-1, self._length)
        self._posteriors: dict[float, Tensor] = {}

    def law(self, row: Row) -> Tensor:
        """Return the distribution of the sampler's sequences, [U, C, ..., C]."""
        transition = Transition(self._path, row.follows, row.step, corrector_of(row.corrector))
        grid = GRIDS.get(row.grid)(self._path, row.steps)
        count, size = self._truth.count, self._path.vocabulary.size
        source = self._source[self._tokens].expand(count, 1, self._length, -1)
        law = self._together(torch.ones(count, 1, dtype=torch.float64), source)
        for t, t_next in pairwise(grid[:-1]):
            x1, z = (values.flatten() for values in torch.meshgrid(self._data, torch.arange(size), indexing="ij"))
            times = (torch.full(x1.shape, time, dtype=torch.float64) for time in (t, t_next))
            kernel = transition.probabilities(x1, z, *times).view(len(self._data), size, size)[..., self._tokens]
            moves = torch.einsum("usdc,csdx->usdx", self._posterior(t), kernel[:, self._states])
            law = self._together(law, moves)
        ended = self._together(law, self._posterior(grid[-2]))  # the last step lands on x1
        return ended.view(-1, *[len(self._data)] * self._length)

    def _together(self, law: Tensor, moves: Tensor) -> Tensor:
        """Return the law after independent moves [U, S, D, x] of the tokens of sequences with a law [U, S]."""
        joint = law[:, :, None] * moves[:, :, 0]
        for place in range(1, self._length - 1):
            joint = (joint[..., None] * moves[:, :, place, None]).flatten(2)
        if self._length == 1:
            return joint.sum(1)
        return (joint.transpose(1, 2) @ moves[:, :, -1]).flatten(1)

    def _posterior(self, t: float) -> Tensor:
        """Return p(x1^i = c | x_t) for every sequence x_t, [U, S, D, C]."""
        if t not in self._posteriors:
            count = self._truth.count
            states, labels = self._states.repeat(count, 1), torch.arange(count).repeat_interleave(len(self._states))
            logits = self._model(states, torch.full((len(states),), t), labels=labels)
            kinds = torch.zeros_like(states)
            possible = constrain(self._path, logits, states, kinds)[..., self._data].softmax(-1)
            self._posteriors[t] = possible.view(count, len(self._states), self._length, -1)
        return self._posteriors[t]
