"""The theta-trapezoidal scheme: two evaluations in a step, and an error of second order.

It is that of Ren et al. (2025), who took it from chemical kinetics (Hu, Li and Min, 2011). Its second half follows the
extrapolated rates a1 u_{t*}(. | x*) - a2 u_t(. | x), cut off at zero. Rates are linear in the posterior, so here the
posterior is extrapolated, and the sampler still draws x1 and moves given x1.
"""

import torch
from torch import Tensor

from pipeline.flow.categorical import draw
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.schemes.base import Scheme, Walk
from pipeline.flow.schemes.registry import SCHEMES
from pipeline.flow.token_likelihoods import log_likelihood


class ThetaTrapezoidal(Scheme):
    """Step to t* = t + theta h by the posterior at t, then on to t + h by the extrapolated one."""

    evaluations = 2

    def __init__(self, theta: float) -> None:
        if not 0 < theta < 1:
            raise FlowError(f"theta: must lie between 0 and 1, got {theta}")
        self.theta = theta

    def middle(self, t: float, t_next: float) -> float:
        """Return t*."""
        return t + self.theta * (t_next - t)

    def step(self, walk: Walk, x: Tensor, t: float, t_next: float) -> Tensor:
        """Return the tokens at t_next. The last step lands on an x1 drawn at t*, as there is no rate at t = 1."""
        middle = self.middle(t, t_next)
        before = walk.probabilities(x, t)
        between = walk.move(x, draw(before, walk.uniforms(x)), t, middle)
        posterior = walk.probabilities(between, middle)
        if t_next < 1:
            carried = carry(walk.transition.path, before, x, t, between, middle)
            posterior = self.extrapolate(carried, posterior)
        return walk.move(between, draw(posterior, walk.uniforms(x)), middle, t_next)

    def extrapolate(self, carried: Tensor, posterior: Tensor) -> Tensor:
        """Return a1 p_{t*} - a2 p_t, cut off at zero and made a distribution again; all [..., K].

        >>> old, new = torch.tensor([0.5, 0.5]), torch.tensor([0.7, 0.3])
        >>> ThetaTrapezoidal(theta=0.5).extrapolate(old, new)
        tensor([0.9000, 0.1000])
        """
        product = 2 * self.theta * (1 - self.theta)
        extrapolated = (posterior / product - (1 - product) / product * carried).clamp(min=0)
        return extrapolated / extrapolated.sum(-1, keepdim=True)


def carry(path: Path, before: Tensor, x: Tensor, t: float, between: Tensor, middle: float) -> Tensor:
    """Return what p(x1 | x_t) would be at t* if each token had learned nothing new from the others, [..., K].

    Each token sees itself at t* instead of t, by Bayes: p(x1 | x_t) p_{t*}(x* | x1) / p_t(x | x1). So where tokens do
    not depend on each other it is the posterior at t*, and nothing is extrapolated. Under a mask source, a token that
    is still masked keeps its posterior.
    """
    times = (torch.full((), time, dtype=torch.float64, device=x.device) for time in (t, middle))
    then, now = (log_likelihood(path, tokens, time) for tokens, time in zip((x, between), times, strict=True))
    possible = (before > 0) & (then > -torch.inf) & (now > -torch.inf)
    scores = torch.where(possible, before.log() + now - then, -torch.inf)
    known = possible.any(-1, keepdim=True)  # else the model contradicts itself, and nothing is carried over
    return torch.where(known, torch.where(known, scores, 0.0).softmax(-1), 0.0)


@SCHEMES.register("theta_trapezoidal")
def theta_trapezoidal(*, theta: float = 0.5) -> Scheme:
    """Return the theta-trapezoidal scheme of Ren et al. (2025), with t* at a share `theta` of the step.

    It asks the model twice in a step. On mask paths it is theirs, except that extrapolated probabilities that were cut
    off are scaled to add up to 1, so that as many tokens are unmasked as the scheduler says.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 0.5]))
    >>> generator = torch.Generator().manual_seed(0)
    >>> drawn = sample(model, path, shape=(2, 2), steps=8, scheme="theta_trapezoidal", generator=generator)
    >>> drawn.tokens, drawn.evaluations
    (tensor([[1, 0],
            [1, 0]]), 16)
    """
    return ThetaTrapezoidal(theta)
