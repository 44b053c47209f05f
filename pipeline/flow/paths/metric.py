"""Metric-induced paths: mass gathers around x1, and tokens near x1 keep theirs longest."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from pipeline.flow.beta import Beta
from pipeline.flow.checks import check_positive
from pipeline.flow.closed_forms import metric
from pipeline.flow.device import Table
from pipeline.flow.distances import Distance, EmbeddingDistance, TableDistance, check_distance
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.part import Part
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.state import State
from pipeline.flow.vocabulary import Vocabulary

_LARGEST = torch.finfo(torch.float64).max
_SMALL = 512  # tokens whose distances to each other take 2 MB


class MetricPath(Path):
    """p_t(x | x1) = softmax(-beta_t d(x, x1)) over the tokens of x1's kind. The clock is beta_t."""

    closed_forms = metric.CLOSED_FORMS

    def __init__(self, vocabulary: Vocabulary, distance: Distance, beta: Beta, *, check: bool = True) -> None:
        super().__init__(vocabulary)
        self.distance, self.beta = distance, beta
        self.whole = bool((vocabulary.kind_of.values == 0).all())  # all tokens are of one kind; no distance is infinite
        if check:
            check_distance(distance, vocabulary)

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.beta.value(t, x1)

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.beta.rate(t, x1)

    def distances(self, x1: Tensor) -> Tensor:
        """Return d(x, x1) for all x, [..., K]; infinite for tokens of other kinds."""
        if self._small_table is not None:
            return self._small_table.on(x1.device)[x1]
        rows = self.distance.rows(x1).double()
        if self.whole:
            return rows
        return torch.where(self.vocabulary.targets(self.vocabulary.kinds_of(x1)), rows, torch.inf)

    @cached_property
    def _small_table(self) -> Table | None:
        """All distances of a small vocabulary: to look up a row takes a tenth of the time of computing it."""
        small = self.whole and self.vocabulary.size <= _SMALL
        return Table(self.distance.rows(torch.arange(self.vocabulary.size)).double()) if small else None

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        """Return log softmax(-beta_t d(x, x1)) (eq:metric_prob_path)."""
        return torch.log_softmax(self.exponents(self.distances(x1), self.clock(x1, t)), dim=-1)

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p and its derivatives by beta: dlog p(x)/dbeta = E_p[d] - d(x)."""
        distances = self.distances(x1)
        log_prob = torch.log_softmax(self.exponents(distances, self.clock(x1, t)), dim=-1)
        finite = distances if self.whole else torch.where(distances < torch.inf, distances, 0.0)
        prob = log_prob.exp()
        log_prob_dot = (prob * finite).sum(-1, keepdim=True) - finite
        if not self.whole:
            log_prob_dot = torch.where(distances < torch.inf, log_prob_dot, 0.0)
        return State(log_prob, prob * log_prob_dot, log_prob_dot)

    def exponents(self, distances: Tensor, beta: Tensor) -> Tensor:
        """Return -beta d, [..., K]; 0 at x1 and -inf at tokens of other kinds, whatever beta [...] is."""
        exponents = distances * -beta.clamp(max=_LARGEST)[..., None]  # at t = 1 the product with d = 0 must be 0
        return exponents if self.whole else exponents.masked_fill_(distances == torch.inf, -torch.inf)

    def scores(self, distances: Tensor, beta: Tensor) -> Tensor:
        """Return `exponents`, but -inf where exp is below 1e-304; denormal numbers, below 1e-308, take far longer."""
        return torch.threshold_(self.exponents(distances, beta), -700.0, -torch.inf)

    def running_totals(self, x1: Tensor, t: Tensor) -> Tensor:
        scores = self.scores(self.distances(x1), self.clock(x1, t))
        return torch.cumsum(scores.softmax(-1), -1, out=scores)

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return False: every x1 reaches every token of its kind."""
        return torch.zeros_like(z, dtype=torch.bool)

    @cached_property
    def by_distance(self) -> tuple[Table, Table, Table]:
        """For each x1 all tokens in the order of their distances, their ranks in it, and the distances, [K, K] each."""
        distances, order = self.distances(torch.arange(self.vocabulary.size)).sort(dim=-1, stable=True)
        ranks = torch.empty_like(order).scatter_(-1, order, torch.arange(len(order)).expand_as(order))
        return Table(order), Table(ranks), Table(distances)

    @cached_property
    def parts(self) -> list[Part] | None:
        """The path over the tokens of each kind alone, so that rows are short and every distance is finite."""
        return None if self.whole else [self._part(kind) for kind in range(self.vocabulary.kinds)]

    def _part(self, kind: int) -> Part:
        tokens = (self.vocabulary.kind_of.values == kind).nonzero().squeeze(-1)
        path = MetricPath(
            Vocabulary.single(len(tokens)), self.distance.within(tokens), self.beta.within(tokens), check=False
        )
        return Part(path, tokens, self.vocabulary.size)


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

    Without either, the tokens of each kind are spread evenly over [-1, 1] in the order of their numbers, like the
    values of a pixel. lp, a and c are numbers, or one number for each kind of position; with embeddings, lp is one
    number. `check` looks for distances that are not allowed, and takes a while for thousands of tokens.

    >>> path = build_path("metric", Vocabulary.single(5), lp=2, a=1, c=1)
    >>> path.log_prob(torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)).exp()
    tensor([[0.4405, 0.3430, 0.1620, 0.0464, 0.0081]], dtype=torch.float64)
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
    """Return one value for all tokens, or the value of each token by its kind, [K]."""
    if isinstance(value, int | float):
        return torch.tensor(value, dtype=torch.float64)
    if len(value) != vocabulary.kinds:
        raise FlowError(f"{name}: one number for each of {vocabulary.kinds} kinds of positions, got {list(value)}")
    of_kind = torch.tensor([*value, 1.0], dtype=torch.float64)  # the last one is for tokens that are never data
    return of_kind[vocabulary.kind_of.values]
