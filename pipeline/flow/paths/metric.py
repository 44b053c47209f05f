"""Metric-induced paths: mass gathers around x1 as a distance on the tokens tells it."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.device import Table
from pipeline.flow.distances import Distance, EmbeddingDistance, TableDistance, check_distance
from pipeline.flow.distinct import distinct_rows
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Correction, Jump
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.kindwise import KindwiseJump
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import Beta
from pipeline.flow.sorted_jumps import HubJump, campbell_jump, kinetic_optimal_jump
from pipeline.flow.state import State, at
from pipeline.flow.velocities import Velocity
from pipeline.flow.velocities.campbell import campbell
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.velocities.power_infinity import power_infinity
from pipeline.flow.vocabulary import Vocabulary

_LARGEST_TABLE = 2048  # tokens up to which there is a row for each x1
_FEW_NUMBERS = 32


class MetricPath(Path):
    """p_t(x | x1) = softmax(-beta_t d(x, x1)) over the tokens of x1's kind, followed by the clock beta_t."""

    def __init__(self, vocabulary: Vocabulary, distance: Distance, beta: Beta, *, check: bool = True) -> None:
        super().__init__(vocabulary)
        self.distance, self.beta = distance, beta
        if check:
            check_distance(distance, vocabulary)

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.beta.value(t, x1)

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.beta.rate(t, x1)

    def distances(self, x1: Tensor) -> Tensor:
        """Return d(x, x1) for all x, [..., K]; infinite for tokens of other kinds."""
        inside = self.vocabulary.targets(self.vocabulary.kinds_of(x1))
        return torch.where(inside, self.distance.rows(x1).double(), torch.inf)

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return log softmax(-beta_t d(x, x1)) (eq:metric_prob_path)."""
        return self._log_softmax(self.distances(x1), self.clock(x1, t)[..., None])

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p and its derivatives by beta: dlog p(x)/dbeta = E_p[d] - d(x)."""
        distances = self.distances(x1)
        log_prob = self._log_softmax(distances, self.clock(x1, t)[..., None])
        finite = torch.where(distances < torch.inf, distances, 0.0)
        mean = (log_prob.exp() * finite).sum(-1, keepdim=True)
        log_prob_dot = torch.where(distances < torch.inf, mean - finite, 0.0)
        return State(log_prob, log_prob.exp() * log_prob_dot, log_prob_dot)

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return False: every x1 reaches every token of its kind."""
        return torch.zeros_like(z, dtype=torch.bool)

    def net_rates(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates; the kinetic-optimal ones are p(x) (d(z, x1) - d(x, x1)) (eq:metric_velocity)."""
        if velocity is not kinetic_optimal:
            return super().net_rates(velocity, x1, z, t)
        distances = self.distances(x1)
        prob = self._log_softmax(distances, self.clock(x1, t)[..., None]).exp()
        from_z = at(distances, z)
        closer = torch.where((distances < torch.inf) & (from_z < torch.inf), from_z - distances, 0.0)
        return prob * closer

    def tokens_at(self, x1: Tensor, t: Tensor, uniforms: Tensor) -> Tensor:
        """Return the tokens that the uniform numbers stand for, with rows over the tokens of one kind only."""
        if self.vocabulary.kinds == 1:
            return super().tokens_at(x1, t, uniforms)
        kinds, drawn = self.vocabulary.kinds_of(x1), torch.empty_like(x1)
        for kind, part in enumerate(self._parts):
            here = kinds == kind
            drawn[here] = part.outside(part.path.tokens_at(part.inside(x1[here]), t[here], uniforms[here]))
        return drawn

    def jump(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor, correction: Correction | None = None) -> Jump:
        """Return the jump out of z, by a closed form if there is one, else with rows over the tokens of one kind."""
        kinds = self.vocabulary.kinds_of(x1)
        if self._has_closed_form(velocity, correction is not None):
            return self._closed_jump(velocity, x1, z, t)
        if self.vocabulary.kinds == 1 or not torch.equal(kinds, self.vocabulary.kind_of.on(z.device)[z]):
            return super().jump(velocity, x1, z, t, correction)
        jumps: dict[int, Jump] = {}
        for kind, part in enumerate(self._parts):
            here = kinds == kind
            limited = Correction(correction.weight[here], correction.limit[here]) if correction else None
            inner = part.path.jump(velocity, part.inside(x1[here]), part.inside(z[here]), t[here], limited)
            jumps[kind] = PartJump(inner, part)
        return KindwiseJump(kinds, jumps)

    def jump_size(self, velocity: Velocity, corrected: bool = False) -> int:
        """Return how many numbers per token `jump` works with: few if there is a closed form."""
        closed = self._has_closed_form(velocity, corrected)
        return _FEW_NUMBERS if closed else super().jump_size(velocity, corrected)

    def _has_closed_form(self, velocity: Velocity, corrected: bool) -> bool:
        """Return whether jumps need no row of rates; there must be room for a row for each x1."""
        known = any(velocity is other for other in (kinetic_optimal, campbell, power_infinity))
        few = self.vocabulary.kinds == 1 and self.vocabulary.size <= _LARGEST_TABLE
        return known and few and not corrected

    def _closed_jump(self, velocity: Velocity, x1: Tensor, z: Tensor, t: Tensor) -> Jump:
        everything = torch.arange(len(x1), device=x1.device)
        places, which = distinct_rows(x1, t) or (everything, everything)
        state = self.state(x1[places], t[places])
        if velocity is power_infinity:
            return HubJump(state, which, x1, z)  # the likeliest token is x1, or as likely
        return (kinetic_optimal_jump if velocity is kinetic_optimal else campbell_jump)(state, which, z)

    @cached_property
    def _parts(self) -> list["Part"]:
        kind_of = self.vocabulary.kind_of.values
        return [Part(self, (kind_of == kind).nonzero().squeeze(-1)) for kind in range(self.vocabulary.kinds)]

    @staticmethod
    def _log_softmax(distances: Tensor, beta: Tensor) -> Tensor:
        outside = distances == torch.inf
        exponent = torch.where(outside | (distances == 0), 0.0, -beta * torch.where(outside, 0.0, distances))
        return torch.log_softmax(torch.where(outside, -torch.inf, exponent), dim=-1)


class Part:
    """A metric path over the tokens of one kind, numbered anew, so that its rows are no longer than they need to be."""

    def __init__(self, path: MetricPath, tokens: Tensor) -> None:
        vocabulary = Vocabulary.single(len(tokens))
        self.path = MetricPath(vocabulary, path.distance.within(tokens), path.beta.within(tokens), check=False)
        number = torch.full((path.vocabulary.size,), -1).scatter(0, tokens, torch.arange(len(tokens)))
        self._tokens, self._number = Table(tokens), Table(number)

    def inside(self, tokens: Tensor) -> Tensor:
        """Return the numbers that tokens have within the kind."""
        return self._number.on(tokens.device)[tokens]

    def outside(self, tokens: Tensor) -> Tensor:
        """Return the tokens that have these numbers within the kind."""
        return self._tokens.on(tokens.device)[tokens]


class PartJump(Jump):
    """A jump between the tokens of one kind."""

    def __init__(self, jump: Jump, part: Part) -> None:
        self._jump, self._part, self.rate = jump, part, jump.rate

    def destination(self, uniforms: Tensor) -> Tensor:
        return self._part.outside(self._jump.destination(uniforms))


@PATHS.register("metric")
def metric_path(
    vocabulary: Vocabulary,
    *,
    lp: float | Sequence[float] = 3.0,
    a: float | Sequence[float] = 5.0,
    c: float | Sequence[float] = 1.0,
    distances: Tensor | None = None,
    embeddings: Tensor | None = None,
    check: bool = True,
) -> Path:
    """Return the metric path of distances [K, K] to the power lp, or of embeddings with d = |emb(x) - emb(x1)|^lp.

    Without either, the tokens of each kind are spread evenly over [-1, 1] in the order of their numbers, as pixels are.
    lp, a and c are numbers, or one number for each kind of position; with embeddings, lp is one number. `check` looks
    for distances that are not allowed, which takes a while for thousands of tokens.
    """
    beta = Beta(_of_tokens(vocabulary, a, "a"), _of_tokens(vocabulary, c, "c"))
    if distances is not None:
        power = _of_tokens(vocabulary, lp, "lp")
        check_positive(float(power.min()), "lp")
        return MetricPath(vocabulary, TableDistance(distances.double() ** power[..., None]), beta, check=check)
    if not isinstance(lp, int | float):
        raise FlowError(f"lp: one number for all kinds of positions expected with embeddings, got {list(lp)}")
    if embeddings is None:
        embeddings = torch.zeros(vocabulary.size, dtype=torch.float64)
        for tokens in vocabulary.targets(torch.arange(vocabulary.kinds)):
            embeddings[tokens] = torch.linspace(-1, 1, int(tokens.sum()), dtype=torch.float64)
    return MetricPath(vocabulary, EmbeddingDistance(embeddings, lp), beta, check=check)


def _of_tokens(vocabulary: Vocabulary, value: float | Sequence[float], name: str) -> Tensor:
    """Return one value for all tokens, or the value of each, [K], by the kind that it is data of."""
    if isinstance(value, int | float):
        return torch.tensor(value, dtype=torch.float64)
    if len(value) != vocabulary.kinds:
        raise FlowError(f"{name}: one number for each of {vocabulary.kinds} kinds of positions, got {list(value)}")
    of_kind = torch.tensor([*value, 1.0], dtype=torch.float64)  # the last one is for tokens that are never data
    return of_kind[vocabulary.kind_of.values]
