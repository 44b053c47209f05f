"""Metric-induced paths: mass gathers around x1, and tokens near x1 keep theirs longest."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.closed_forms import metric
from pipeline.flow.device import Table
from pipeline.flow.distances import Distance, EmbeddingDistance, TableDistance, check_distance
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import Beta
from pipeline.flow.state import State
from pipeline.flow.vocabulary import Vocabulary


class MetricPath(Path):
    """p_t(x | x1) = softmax(-beta_t d(x, x1)) over the tokens of x1's kind. The clock is beta_t."""

    closed_forms = metric.CLOSED_FORMS

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
        return self.log_softmax(self.distances(x1), self.clock(x1, t)[..., None])

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p and its derivatives by beta: dlog p(x)/dbeta = E_p[d] - d(x)."""
        distances = self.distances(x1)
        log_prob = self.log_softmax(distances, self.clock(x1, t)[..., None])
        finite = torch.where(distances < torch.inf, distances, 0.0)
        mean = (log_prob.exp() * finite).sum(-1, keepdim=True)
        log_prob_dot = torch.where(distances < torch.inf, mean - finite, 0.0)
        return State(log_prob, log_prob.exp() * log_prob_dot, log_prob_dot)

    def absorbed(self, z: Tensor, kinds: Tensor) -> Tensor:
        """Return False: every x1 reaches every token of its kind."""
        return torch.zeros_like(z, dtype=torch.bool)

    def tokens_at(self, x1: Tensor, t: Tensor, uniforms: Tensor) -> Tensor:
        """Return the token for each uniform number, from rows over the tokens of one kind only."""
        if self.vocabulary.kinds == 1:
            return super().tokens_at(x1, t, uniforms)
        kinds, drawn = self.vocabulary.kinds_of(x1), torch.empty_like(x1)
        for kind, part in enumerate(self.parts):
            here = kinds == kind
            drawn[here] = part.outside(part.path.tokens_at(part.inside(x1[here]), t[here], uniforms[here]))
        return drawn

    @staticmethod
    def log_softmax(distances: Tensor, beta: Tensor) -> Tensor:
        """Return log softmax(-beta d); tokens at an infinite distance have no mass, whatever beta is."""
        outside = distances == torch.inf
        exponent = torch.where(outside | (distances == 0), 0.0, -beta * torch.where(outside, 0.0, distances))
        return torch.log_softmax(torch.where(outside, -torch.inf, exponent), dim=-1)

    @cached_property
    def parts(self) -> list["Part"]:
        """The path over the tokens of each kind alone."""
        kind_of = self.vocabulary.kind_of.values
        return [Part(self, (kind_of == kind).nonzero().squeeze(-1)) for kind in range(self.vocabulary.kinds)]


class Part:
    """A metric path over the tokens of one kind, numbered 0, 1, 2, ..., so that its rows are short."""

    def __init__(self, path: MetricPath, tokens: Tensor) -> None:
        vocabulary = Vocabulary.single(len(tokens))
        self.path = MetricPath(vocabulary, path.distance.within(tokens), path.beta.within(tokens), check=False)
        number = torch.full((path.vocabulary.size,), -1).scatter(0, tokens, torch.arange(len(tokens)))
        self._tokens, self._number = Table(tokens), Table(number)

    def inside(self, tokens: Tensor) -> Tensor:
        """Return the numbers of tokens within the kind."""
        return self._number.on(tokens.device)[tokens]

    def outside(self, tokens: Tensor) -> Tensor:
        """Return the tokens with these numbers within the kind."""
        return self._tokens.on(tokens.device)[tokens]


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
