"""The law of a sampler itself, over all sequences: no samples, so no sampling error.

Letters in shapes: U distributions, S sequences, D tokens of each, C tokens that are data, K tokens.
"""

from itertools import pairwise

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.paths import Path
from pipeline.flow.posterior import constrain
from pipeline.flow.steps import Transition
from pipeline.known.bench.rows import Row
from pipeline.known.bench.scheme_laws import STEPS_OF_LAWS
from pipeline.known.bench.truth import Truth
from pipeline.sampling.correctors import corrector_of


class Laws:
    """Laws of samplers on one path; posteriors are kept, because many samplers ask for the same ones."""

    def __init__(self, truth: Truth, path: Path) -> None:
        self.truth, self.path, self._model = truth, path, truth.posterior(path)
        self._source, self.length = path.source(torch.zeros((), dtype=torch.int64)).exp(), truth.length
        is_data = path.vocabulary.kind_of.values >= 0
        self.data = is_data.nonzero().squeeze(-1)
        self.tokens = (is_data | (self._source > 0)).nonzero().squeeze(-1)  # those that x_t may hold
        every = torch.arange(len(self.tokens))
        self.places = torch.cartesian_prod(*[every] * self.length).view(-1, self.length)  # of tokens among `tokens`
        self.states = self.tokens[self.places]
        self.place_of_data = torch.searchsorted(self.tokens, self.data)
        self._posteriors: dict[float, Tensor] = {}

    def law(self, row: Row) -> Tensor:
        """Return the distribution of the sampler's sequences, [U, C, ..., C]."""
        transition = Transition(self.path, row.follows, row.step, corrector_of(row.corrector))
        scheme, grid = row.uses, row.times(self.path)
        scheme.check(transition)
        if type(scheme) not in STEPS_OF_LAWS:
            raise KinoflowError(f"scheme {row.scheme!r}: its law cannot be computed; set oracle.law to samples")
        count = self.truth.count
        source = self._source[self.tokens].expand(count, 1, self.length, -1)
        law = self.together(torch.ones(count, 1, dtype=torch.float64), source)
        for t, t_next in pairwise(grid):
            law = STEPS_OF_LAWS[type(scheme)](self, scheme, transition, law, t, t_next)
        return law.view(-1, *[len(self.data)] * self.length)

    def number(self, places: Tensor) -> Tensor:
        """Return which of the states has its tokens at `places` [..., D] among the tokens."""
        return (places * len(self.tokens) ** torch.arange(self.length - 1, -1, -1)).sum(-1)

    def moves(self, transition: Transition, posterior: Tensor, states: Tensor, t: float, t_next: float) -> Tensor:
        """Return where the tokens of sequences `states` [S, D] are after a step, [U, S, D, x]; at t_next = 1 at x1."""
        if t_next == 1:
            return posterior
        size = self.path.vocabulary.size
        x1, z = (values.flatten() for values in torch.meshgrid(self.data, torch.arange(size), indexing="ij"))
        times = (torch.full(x1.shape, time, dtype=torch.float64) for time in (t, t_next))
        kernel = transition.probabilities(x1, z, *times).view(len(self.data), size, size)[..., self.tokens]
        return torch.einsum("usdc,csdx->usdx", posterior, kernel[:, states])

    def together(self, law: Tensor, moves: Tensor) -> Tensor:
        """Return the law after independent moves [U, S, D, x] of the tokens of sequences with a law [U, S]."""
        joint = law[:, :, None] * moves[:, :, 0]
        for place in range(1, self.length - 1):
            joint = (joint[..., None] * moves[:, :, place, None]).flatten(2)
        if self.length == 1:
            return joint.sum(1)
        return (joint.transpose(1, 2) @ moves[:, :, -1]).flatten(1)

    def posterior(self, t: float) -> Tensor:
        """Return p(x1^i = c | x_t) for every sequence x_t, [U, S, D, C]."""
        if t not in self._posteriors:
            count = self.truth.count
            states, labels = self.states.repeat(count, 1), torch.arange(count).repeat_interleave(len(self.states))
            logits = self._model(states, torch.full((len(states),), t), labels=labels)
            kinds = torch.zeros_like(states)
            possible = constrain(self.path, logits, states, kinds)[..., self.data].softmax(-1)
            self._posteriors[t] = possible.view(count, len(self.states), self.length, -1)
        return self._posteriors[t]
