"""Hybrid paths: from a mask to x1, with some uniform noise on the way, as in GIDD (von Ruette et al., 2025)."""

import torch
from torch import Tensor

from pipeline.flow import sources
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.vocabulary import Vocabulary


class HybridPath(Path):
    """p_t(x | x1) = (kappa delta_x1 + (1 - kappa) mask + r uniform) / (1 + r), with r = R sqrt(kappa (1 - kappa)).

    In the middle of the path, a `share` of the tokens is uniform noise. So a network has to learn which tokens are
    wrong. kappa = sin^2(pi t / 2) is the kinetic-optimal scheduler of a mask; it makes r = R / 2 sin(pi t)
    smooth. GIDD runs the same path at another speed.
    """

    def __init__(self, vocabulary: Vocabulary, share: float) -> None:
        super().__init__(vocabulary)
        if not 0 < share < 1:
            raise FlowError(f"share: must lie between 0 and 1, got {share}")
        self._most = share / (1 - share)  # r in the middle
        self._mask, self._uniform = Table(sources.mask(vocabulary)), Table(sources.uniform(vocabulary))

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        kinds, t = self.vocabulary.kinds_of(x1), t[..., None]
        mask, uniform = (table.on(x1.device)[kinds] for table in (self._mask, self._uniform))
        noise = self._most * torch.sinc(1 - t) * torch.pi * (1 - t)  # sin(pi t), and exactly 0 at t = 1
        fading = torch.sin(torch.pi / 2 * (1 - t)) ** 2
        prob = fading * mask + noise * uniform
        prob = prob.scatter_add(-1, x1[..., None], (1 - fading).expand_as(prob[..., :1]))
        return prob.log() - prob.sum(-1, keepdim=True).log()  # the derivative of a lone token is then exactly 0


@PATHS.register("hybrid")
def hybrid_path(vocabulary: Vocabulary, *, share: float = 0.2) -> Path:
    """Return the path from the mask to x1 on which a `share` of the tokens is uniform noise at t = 1/2.

    >>> path = build_path("hybrid", Vocabulary.single(2, specials=1), share=0.2)
    >>> path.log_prob(torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)).exp()
    tensor([[0.5000, 0.1000, 0.4000]], dtype=torch.float64)
    """
    return HybridPath(vocabulary, share)
