"""Confidence order: on mask paths, unmask the surest tokens first, as MaskGIT does (Chang et al., 2022)."""

import torch
from torch import Tensor

from pipeline.flow.categorical import draw
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.schemes.base import Scheme, Walk
from pipeline.flow.schemes.registry import SCHEMES
from pipeline.flow.steps import Transition
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal

_ROUNDING = 1e-9
_LEAST = 1e-9  # of the noise: tokens that are as sure as each other come in a random order


class Confidence(Scheme):
    """Draw x1 for every masked token, and keep those whose drawn token is the most probable."""

    def __init__(self, temperature: float) -> None:
        if not 0 <= temperature < float("inf"):
            raise FlowError(f"temperature: must be finite and at least 0, got {temperature}")
        self._temperature = temperature

    def check(self, transition: Transition) -> None:
        if not is_masked(transition.path):
            raise FlowError("scheme: the confidence order unmasks tokens and needs a mask path; use the scheme plain")
        if transition.corrector is not None or transition.velocity is not kinetic_optimal:
            raise FlowError(
                "scheme: the confidence order takes no corrector and no velocity but kinetic_optimal; leave them out"
            )

    def step(self, walk: Walk, x: Tensor, t: float, t_next: float) -> Tensor:
        path = walk.transition.path
        probabilities = walk.probabilities(x, t)
        x1 = draw(probabilities, walk.uniforms(x))
        gumbel = -torch.log(-torch.log(walk.uniforms(x).clamp(min=1e-300)))
        sureness = probabilities.gather(-1, x1[..., None]).squeeze(-1).log()
        score = sureness + self.noise(t_next) * gumbel
        masked = x == path.vocabulary.mask
        count = masked.sum(-1) - left(path, (walk.start == path.vocabulary.mask).sum(-1), t_next)
        place = score.masked_fill(~masked, -torch.inf).argsort(-1, descending=True).argsort(-1)
        return walk.put(torch.where(masked & (place < count[:, None]), x1, x), t_next)

    def noise(self, t_next: float) -> float:
        """Return the factor of the Gumbel noise in a step that ends at t_next."""
        return max(self._temperature * (1 - t_next), _LEAST)


def is_masked(path: Path) -> bool:
    """Return whether every token starts as a mask, or is the only one of its kind."""
    if not isinstance(path, MixturePath) or path.vocabulary.mask_token is None:
        return False
    alone = path.vocabulary.targets(torch.arange(path.vocabulary.kinds)).sum(-1) == 1
    return bool((alone | (path.source_prob.values[:, path.vocabulary.mask] == 1)).all())


def left(path: Path, count: Tensor, t: float) -> Tensor:
    """Return how many of `count` tokens are masked at t: 1 - kappa of them, rounded up. So the last step has work.

    >>> left(build_path("mask", Vocabulary.single(2, specials=1)), torch.tensor([3, 8]), 0.5)
    tensor([2, 4])
    """
    x1 = (path.vocabulary.kind_of.values >= 0).nonzero()[0]  # kappa is the same for all: the source gives them no mass
    rest = torch.exp(-path.clock(x1, torch.tensor([t], dtype=torch.float64)))
    return (count * float(rest) - _ROUNDING).ceil().long().clamp(min=0)


@SCHEMES.register("confidence")
def confidence(*, temperature: float = 4.5) -> Scheme:
    """Return the order of MaskGIT: in each step the tokens whose draw is the most probable, as many as are due.

    The probability is compared by its logarithm plus Gumbel noise, times a `temperature` that falls to 0 with 1 - t.
    A token that is not kept is drawn again later. So likely tokens are favoured: the samples do not follow the data,
    however many steps there are.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 0.5]))
    >>> generator = torch.Generator().manual_seed(0)
    >>> sample(model, path, shape=(2, 2), steps=2, scheme="confidence", generator=generator).tokens
    tensor([[1, 0],
            [0, 1]])
    """
    return Confidence(temperature)
