"""Metric-induced paths: mass gathers around x1 as a distance on the tokens tells it."""

import torch
from torch import Tensor

from pipeline.flow.distances import Distance, EmbeddingDistance, check_distance
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.schedulers import Beta
from pipeline.flow.state import State, at
from pipeline.flow.velocities import Velocity, kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary


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

    @staticmethod
    def _log_softmax(distances: Tensor, beta: Tensor) -> Tensor:
        outside = distances == torch.inf
        exponent = torch.where(outside | (distances == 0), 0.0, -beta * torch.where(outside, 0.0, distances))
        return torch.log_softmax(torch.where(outside, -torch.inf, exponent), dim=-1)


@PATHS.register("metric")
def metric_path(
    vocabulary: Vocabulary,
    *,
    lp: float = 3.0,
    a: float = 5.0,
    c: float = 1.0,
    distance: Distance | None = None,
    embeddings: Tensor | None = None,
    check: bool = True,
) -> Path:
    """Return the metric path for a distance, or for embeddings with d = |emb(x) - emb(x1)|^lp.

    Without either, the tokens of each kind are spread evenly over [-1, 1] in the order of their numbers, as pixels are.
    `check` looks for distances that are not allowed, which takes a while for thousands of tokens.
    """
    if distance is None:
        if embeddings is None:
            embeddings = torch.zeros(vocabulary.size, dtype=torch.float64)
            for tokens in vocabulary.targets(torch.arange(vocabulary.kinds)):
                embeddings[tokens] = torch.linspace(-1, 1, int(tokens.sum()), dtype=torch.float64)
        distance = EmbeddingDistance(embeddings, lp)
    return MetricPath(vocabulary, distance, Beta(a, c), check=check)
