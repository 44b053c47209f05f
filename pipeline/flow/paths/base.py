"""The conditional probability path: what a user implements, and what every sampler, loss and bound may ask of it.

A path is followed by its own clock s(t). Rates and derivatives are taken with respect to s, and a step from t to t + h
advances the clock by s(t + h) - s(t); the clock of a metric path is beta_t, that of a mixture -log(1 - kappa_t), and a
path that says nothing of it uses s = t. So derivatives stay finite where ds/dt is not (beta' at t = 0 for a < 1).
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pipeline.flow.categorical import draw, uniform
from pipeline.flow.checks import check_times, check_tokens
from pipeline.flow.chunks import row_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Jump, RowJump
from pipeline.flow.state import State
from pipeline.flow.velocities import Velocity
from pipeline.flow.vocabulary import Vocabulary

_EDGE = 1e-9  # distance from t = 0 and t = 1 at which a derivative by autodiff stands for the limit there


class Path(ABC):
    """A conditional path p_t(x | x1) over a vocabulary; only `log_prob` must be written."""

    needs_time = True  # whether the posterior depends on t, so that a network must be told it

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @abstractmethod
    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return log p_t(x | x1) for all x, float64[..., K]; `x1` and `t` come in one shape, t in float64."""

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return the clock s(t), which may depend on x1."""
        return t

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return ds/dt."""
        return torch.ones_like(t)

    def increment(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        """Return how far a first-order step advances the clock."""
        return self.clock(x1, t_next) - self.clock(x1, t)

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p and its derivatives by the clock; here by forward-mode automatic differentiation of `log_prob`."""
        t = t.clamp(_EDGE, 1 - _EDGE)
        log_prob, log_prob_dot, *_ = torch.func.jvp(lambda time: self.log_prob(x1, time), (t,), (torch.ones_like(t),))
        log_prob_dot = torch.where(log_prob > -torch.inf, log_prob_dot, 0.0)
        prob_dot = torch.where(log_prob > -745.0, log_prob.exp() * log_prob_dot, 0.0)  # below, exp is 0 in float64
        for values, name in ((log_prob, "log_prob"), (log_prob_dot, "its derivative")):
            if bool(values.isnan().any()):
                raise FlowError(f"{type(self).__name__}: {name} is NaN at t = {_first(t, values):.6g}")
        return State(log_prob, prob_dot, log_prob_dot)

    def net_rates(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return a velocity's net rates out of z per unit of clock, [..., K]; subclasses know closed forms."""
        return velocity(self.state(x1, t), z, x1)

    def jump(
        self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor, weight: float = 0.0, limit: Tensor | None = None
    ) -> Jump:
        """Return the jump out of z with corrector weight `weight`, whose corrector's rate is at most `limit`."""
        return RowJump(self.net_rates(velocity, x1, z, t), weight, limit)

    def source(self, kinds: Tensor) -> Tensor:
        """Return log p_0 at positions of `kinds`, [..., K]: the path at t = 0, which must not depend on x1."""
        first = torch.stack([torch.nonzero(row)[0, 0] for row in self._targets_of_kinds()]).to(kinds.device)
        return self.log_prob(first, torch.zeros(len(first), dtype=torch.float64, device=kinds.device))[kinds]

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return where a token z can only have come from x1 = z."""
        return torch.zeros_like(z, dtype=torch.bool)

    def sample_source(self, kinds: Tensor, generator: torch.Generator) -> Tensor:
        """Draw x_0 at positions of `kinds`."""
        uniforms = uniform(kinds.shape, generator, kinds.device)
        rows, tokens = self.source(torch.arange(self.vocabulary.kinds, device=kinds.device)).exp(), kinds.clone()
        for kind in range(self.vocabulary.kinds):
            here = kinds == kind
            tokens[here] = draw(rows[kind].expand(int(here.sum()), -1), uniforms[here]) if bool(here.any()) else kind
        return tokens

    def sample(self, x1: Tensor, t: Tensor, generator: torch.Generator) -> Tensor:
        """Draw x_t ~ p_t(. | x1), each token by itself (eq:prob_path)."""
        x1, t = self.aligned(x1, t)
        flat_x1, flat_t, uniforms = x1.flatten(), t.flatten(), uniform((x1.numel(),), generator, x1.device)
        tokens = torch.empty_like(flat_x1)
        for rows in row_chunks(len(flat_x1), self.vocabulary.size):
            tokens[rows] = draw(self.log_prob(flat_x1[rows], flat_t[rows]).exp(), uniforms[rows])
        return tokens.view_as(x1)

    def aligned(self, x1: Tensor, t: Tensor, *, before_end: bool = False) -> tuple[Tensor, Tensor]:
        """Return `x1` and `t` checked and in one shape; `t` may have fewer trailing axes than `x1`."""
        check_tokens(x1, self.vocabulary.size, "x1")
        check_times(t, "t", before_end=before_end)
        self.vocabulary.kinds_of(x1)
        if t.shape != x1.shape[: t.dim()]:
            raise FlowError(f"t: shape {tuple(t.shape)} is not the leading part of the tokens' shape {tuple(x1.shape)}")
        t = t.to(device=x1.device, dtype=torch.float64)
        return x1, t.reshape(t.shape + (1,) * (x1.dim() - t.dim())).expand(x1.shape)

    def _targets_of_kinds(self) -> Tensor:
        return self.vocabulary.targets(torch.arange(self.vocabulary.kinds))


def _first(t: Tensor, values: Tensor) -> float:
    return t[values.isnan().any(-1)].flatten()[0].item()
