"""Correctors: extra jumps at one time that leave p_t unchanged, and so repair the errors of earlier steps.

A kind of corrector is one function. It takes the path, x1, the times t and t + h of the step, the weight w at t + h and
the limit. It returns a `Correction`: the probability of each jump in one step of the corrector at t + h. Every one is
symmetric once it is multiplied by p_{t+h}(z), which is all that the law tests ask.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Correction
from pipeline.flow.paths.base import Path
from pipeline.flow.registry import Registry

CORRECTORS: Registry = Registry("corrector")


@CORRECTORS.register("velocity")
def velocity(path: Path, x1: Tensor, t: Tensor, t_next: Tensor, weight: Tensor, limit: Tensor) -> Correction:
    """Jump at w times the velocity's symmetric rates for as long as the step took."""
    return Correction(weight * (path.clock(x1, t_next) - path.clock(x1, t)), limit)


@CORRECTORS.register("refresh")
def refresh(path: Path, x1: Tensor, t: Tensor, t_next: Tensor, weight: Tensor, limit: Tensor) -> Correction:
    """Draw a share w of the tokens anew from p_{t+h}(. | x1), as the Psi-samplers of Duo++ do."""
    return Correction(None, torch.minimum(weight, limit))


@CORRECTORS.register("remask")
def remask(path: Path, x1: Tensor, t: Tensor, t_next: Tensor, weight: Tensor, limit: Tensor) -> Correction:
    """Send a share w of the tokens that are at x1 back to the noise: on mask paths ReMDM with a cap of w.

    All tokens are drawn anew with the probability at which this share of those at x1 gets another token.
    """
    elsewhere = 1 - path.prob_of_x1(x1, t_next)
    return Correction(None, torch.minimum(weight / elsewhere.clamp(min=1e-300), limit))


@dataclass(frozen=True)
class Corrector:
    """Which corrector is used, its weight w(t), and a limit on the jumps that it makes in one step.

    w(t) = weight * t^rise * (1 - t)^fall. Each step of the sampler is followed by one of the corrector, at the later
    time and given the same x1, so it costs no evaluation. A token jumps with a probability of at most `limit`. With few
    evaluations a corrector makes samples worse, because it undoes what the steps have done. With many it repairs them.

    >>> path = build_path("uniform", Vocabulary.single(3))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [2, 1]]), torch.tensor([0.5, 0.5]))
    >>> corrector, generator = Corrector(weight=1.0, fall=1.0), torch.Generator().manual_seed(0)
    >>> sample(model, path, shape=(3, 2), steps=100, corrector=corrector, generator=generator).tokens
    tensor([[2, 1],
            [0, 1],
            [2, 1]])
    """

    weight: float
    rise: float = 1.0
    fall: float = 0.0
    limit: float = 0.5
    kind: str = "velocity"

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 1:
            raise FlowError(f"corrector.limit: must lie above 0 and be at most 1, got {self.limit}")
        for name in ("weight", "rise", "fall"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise FlowError(f"corrector.{name}: must be finite and at least 0, got {getattr(self, name)}")
        CORRECTORS.get(self.kind)

    def correction(self, path: Path, x1: Tensor, t: Tensor, t_next: Tensor) -> Correction:
        """Return the correction at t_next after a step from t, all [...]."""
        weight = self.weight * t_next**self.rise * (1 - t_next) ** self.fall
        found: Correction = CORRECTORS.get(self.kind)(path, x1, t, t_next, weight, torch.full_like(t, self.limit))
        return found
