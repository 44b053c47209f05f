"""The conditional probability path: what a user implements, and what samplers, losses and bounds ask of it.

A path has its own clock s(t). Rates and derivatives are taken with respect to s, and a step from t to t + h advances
the clock by s(t + h) - s(t). The clock of a metric path is beta_t, that of a mixture -log(1 - kappa_t); by default
s = t. So derivatives stay finite where ds/dt does not: beta' is infinite at t = 0 for a < 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from pipeline.flow.categorical import draw_by_totals, uniform
from pipeline.flow.checks import check_times, first, forbid
from pipeline.flow.chunks import row_chunks, small_chunks
from pipeline.flow.device import Table
from pipeline.flow.distinct import distinct_rows
from pipeline.flow.errors import FlowError
from pipeline.flow.state import State, at
from pipeline.flow.vocabulary import Places, Vocabulary

if TYPE_CHECKING:
    from pipeline.flow.paths.part import Part
    from pipeline.flow.rates import ClosedForms

_EDGE = 1e-9  # autodiff stays this far from t = 0 and t = 1, where a derivative may not exist


class Path(ABC):
    """A conditional path p_t(x | x1) over a vocabulary. A subclass must write `log_prob`; all else follows from it.

    >>> class Fading(Path):
    ...     def log_prob(self, x1, t):  # a uniform source that fades out
    ...         prob = ((1 - t) / self.vocabulary.size)[..., None].repeat(*(1,) * x1.dim(), self.vocabulary.size)
    ...         return prob.scatter_add(-1, x1[..., None], t[..., None]).log()
    >>> path, x1, t = Fading(Vocabulary.single(4)), torch.tensor([3]), torch.tensor([0.6], dtype=torch.float64)
    >>> path.log_prob(x1, t).exp()
    tensor([[0.1000, 0.1000, 0.1000, 0.7000]], dtype=torch.float64)
    >>> path.state(x1, t).prob_dot  # dp/dt, by automatic differentiation
    tensor([[-0.2500, -0.2500, -0.2500,  0.7500]], dtype=torch.float64)
    """

    needs_time = True  # whether the posterior depends on t; then a network must see t
    ends_at_x1 = True  # whether p_1 is a point mass on x1, which generation needs
    closed_forms: ClassVar["ClosedForms"] = {}  # faster rates by the name of a velocity

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @abstractmethod
    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return log p_t(x | x1) for all x, float64[..., K]; `x1` and `t` have one shape, `t` is float64."""

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return the clock s(t); it may depend on x1."""
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
        log_prob, log_prob_dot, *_ = torch.func.jvp(
            lambda time: self.checked_log_prob(x1, time), (t,), (torch.ones_like(t),)
        )
        log_prob_dot = torch.where(log_prob > -torch.inf, log_prob_dot, 0.0)
        broken = log_prob_dot.isnan().any(-1)
        message = f"{type(self).__name__}: the derivative of log_prob is NaN at"
        forbid(broken, f"{message} some t", lambda: f"{message} t = {first(t, broken):.6g}")
        prob_dot = torch.where(log_prob > -745.0, log_prob.exp() * log_prob_dot, 0.0)  # below, exp is 0 in float64
        return State(log_prob, prob_dot, log_prob_dot)

    def source(self, kinds: Tensor) -> Tensor:
        """Return log p_0 at positions of `kinds`, [..., K]. The path at t = 0 must not depend on x1."""
        return self._source.on(kinds.device)[kinds]

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return where a token z can only have come from x1 = z, like an unmasked token."""
        return self._absorbed.on(z.device)[kinds, z]

    def sample_source(self, kinds: Tensor, generator: torch.Generator) -> Tensor:
        """Draw x_0 at positions of `kinds`."""
        return self.draw_source(kinds, uniform(kinds.shape, generator, kinds.device))

    def draw_source(self, kinds: Tensor, uniforms: Tensor) -> Tensor:
        """Return the source's token for each uniform number, without a row of K probabilities for each token."""
        running = self.source_running.on(kinds.device)
        if len(running) == 1:
            return draw_by_totals(running[0], uniforms)
        return draw_by_totals(running, uniforms.flatten(), kinds.flatten()).view_as(kinds)

    def sample(
        self, x1: Tensor, t: Tensor, generator: torch.Generator, of_kinds: Sequence[Places] | None = None
    ) -> Tensor:
        """Draw x_t ~ p_t(. | x1), each token on its own (eq:prob_path).

        `of_kinds` says where each kind is among the flattened tokens (see `Vocabulary.places`). A loop over one layout
        gives it, so as not to wait for the device.
        """
        x1, t = self.aligned(x1, t)
        uniforms = uniform((x1.numel(),), generator, x1.device)
        return self.tokens_at(x1.flatten(), t.flatten(), uniforms, of_kinds).view_as(x1)

    def tokens_at(self, x1: Tensor, t: Tensor, uniforms: Tensor, of_kinds: Sequence[Places] | None = None) -> Tensor:
        """Return the token of p_t(. | x1) for each uniform number, all [N]; in chunks of rows."""
        tokens = torch.empty_like(x1)
        if self.parts is not None:
            for part, here in zip(self.parts, of_kinds or self.vocabulary.places_of(x1), strict=True):
                inside = part.path.tokens_at(part.inside(x1[here]), t[here], uniforms[here])
                tokens[here] = part.outside(inside)
            return tokens
        for rows in small_chunks(x1, self.vocabulary.size, sharing=True):
            data, times = x1[rows], t[rows]
            places, which = distinct_rows(data, times) or (slice(None), None)  # tokens of one image share rows
            tokens[rows] = draw_by_totals(self.running_totals(data[places], times[places]), uniforms[rows], which)
        return tokens

    def prob_of_x1(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return p_t(x1 | x1), [...]."""
        return at(self.log_prob(x1, t), x1).squeeze(-1).exp()

    def running_totals(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return the running totals of numbers proportional to p_t(x | x1), float64[..., K]."""
        return self.checked_log_prob(x1, t).exp().cumsum(-1)

    @cached_property
    def parts(self) -> "list[Part] | None":
        """The path at positions of each kind, if it is cheaper there; None: one path serves all."""
        return None

    def aligned(self, x1: Tensor, t: Tensor, *, before_end: bool = False) -> tuple[Tensor, Tensor]:
        """Return `x1` and `t`, checked and in one shape; `t` may lack the last axes of `x1`."""
        check_times(t, "t", before_end=before_end)
        self.vocabulary.kinds_of(x1)
        if t.shape != x1.shape[: t.dim()]:
            raise FlowError(f"t: shape {tuple(t.shape)} is not the leading part of the tokens' shape {tuple(x1.shape)}")
        t = t.to(device=x1.device, dtype=torch.float64)
        return x1, t.reshape(t.shape + (1,) * (x1.dim() - t.dim())).expand(x1.shape)

    def checked_log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return `log_prob` in float64, after a check of its shape and that it is a distribution."""
        log_prob, who = self.log_prob(x1, t).double(), type(self).__name__
        if log_prob.shape != (*x1.shape, self.vocabulary.size):
            expected = (*x1.shape, self.vocabulary.size)
            raise FlowError(f"{who}: log_prob returned shape {tuple(log_prob.shape)}, {expected} expected")
        total = log_prob.logsumexp(-1)
        wrong = ~(total.abs() < 1e-6)
        message, fix = f"{who}: probabilities sum to", "not to 1; end with log_softmax"
        forbid(
            wrong,
            f"{message} something else at some t, {fix}",
            lambda: f"{message} {first(total.exp(), wrong):.6g} at t = {first(t, wrong):.6g}, {fix}",
        )
        return log_prob

    @cached_property
    def source_running(self) -> Table:
        """The running totals of the source's probabilities, [kinds, K]."""
        return Table(self.source(torch.arange(self.vocabulary.kinds)).exp().cumsum(-1))

    @cached_property
    def _source(self) -> Table:
        targets = self.vocabulary.targets(torch.arange(self.vocabulary.kinds))
        first = torch.stack([row.nonzero()[0, 0] for row in targets])
        return Table(self.checked_log_prob(first, torch.zeros(len(first), dtype=torch.float64)))

    @cached_property
    def _absorbed(self) -> Table:
        """Whether only x1 = z leads to z, [kinds, K]; read from `log_prob` in the middle of the path."""
        reached = torch.zeros(self.vocabulary.kinds, self.vocabulary.size, dtype=torch.bool)
        for kind, tokens in enumerate(self.vocabulary.targets(torch.arange(self.vocabulary.kinds))):
            for rows in row_chunks(int(tokens.sum()), self.vocabulary.size):
                x1 = tokens.nonzero().squeeze(-1)[rows]
                log_prob = self.log_prob(x1, torch.full(x1.shape, 0.5, dtype=torch.float64))
                log_prob = log_prob.scatter(-1, x1[:, None], -torch.inf)
                reached[kind] |= (log_prob > -torch.inf).any(0)
        return Table(~reached)
