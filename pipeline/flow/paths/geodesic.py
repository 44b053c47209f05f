"""Geodesic paths: the kinetic-optimal path between two distributions, an arc on the sphere of their square roots."""

import torch
from torch import Tensor

from pipeline.flow import sources
from pipeline.flow.checks import check_distribution
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.state import State
from pipeline.flow.vocabulary import Vocabulary


def geodesic(p: Tensor, q: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Return a_t and da_t/dt on the arc from sqrt p to sqrt q (e:ko_solution); p, q are [..., K], t is [...].

    a_t = (sin((1-t) W) sqrt p + sin(t W) sqrt q) / sin W with W = arccos(sum sqrt(p q)), a straight line for W = 0.
    """
    root_p, root_q, t = p.sqrt(), q.sqrt(), t[..., None]
    chord = (root_p - root_q).norm(dim=-1, keepdim=True)
    angle = 2 * torch.asin((chord / 2).clamp(max=1))  # = arccos(sum sqrt(p q)), and accurate for small angles
    sinc_angle = torch.sinc(angle / torch.pi)
    weight_p = (1 - t) * torch.sinc((1 - t) * angle / torch.pi) / sinc_angle
    weight_q = t * torch.sinc(t * angle / torch.pi) / sinc_angle
    a = weight_p * root_p + weight_q * root_q
    a_dot = (torch.cos(t * angle) * root_q - torch.cos((1 - t) * angle) * root_p) / sinc_angle
    return a, a_dot


class GeodesicPath(Path):
    """The geodesic from a source to a point mass on x1. It is the kinetic-optimal mixture.

    With a `target`, it ends at the rows q(. | x1) instead. Such a path is for study: it does not end at x1, so it
    cannot generate.
    """

    def __init__(self, vocabulary: Vocabulary, source: Tensor, target: Tensor | None = None) -> None:
        super().__init__(vocabulary)
        for table, name, rows in ((source, "source", vocabulary.kinds), (target, "target", vocabulary.size)):
            if table is not None and table.shape != (rows, vocabulary.size):
                raise FlowError(f"{name}: shape {(rows, vocabulary.size)} expected, got {tuple(table.shape)}")
            if table is not None:
                check_distribution(table, name)
        self.source_prob = Table(source.double())
        self._target = Table(target.double()) if target is not None else None
        self.ends_at_x1 = target is None

    def _ends(self, x1: Tensor) -> tuple[Tensor, Tensor]:
        source = self.source_prob.on(x1.device)[self.vocabulary.kinds_of(x1)]
        if self._target is None:
            return source, torch.zeros_like(source).scatter(-1, x1[..., None], 1.0)
        return source, self._target.on(x1.device)[x1]

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        a, _ = geodesic(*self._ends(x1), t)
        return 2 * torch.log(a.clamp(min=0))

    def state(self, x1: Tensor, t: Tensor) -> State:
        """Return p = a^2, dp/dt = 2 a a' and dlog p/dt = 2 a'/a (e:ko_pt_and_ut)."""
        a, a_dot = geodesic(*self._ends(x1), t)
        log_prob_dot = torch.where(a > 0, 2 * a_dot / a.clamp(min=1e-200), 0.0)
        return State(2 * torch.log(a.clamp(min=0)), 2 * a * a_dot, log_prob_dot)

    def source(self, kinds: Tensor) -> Tensor:
        return self.source_prob.on(kinds.device)[kinds].log()


@PATHS.register("geodesic")
def geodesic_path(vocabulary: Vocabulary, *, source: Tensor | None = None) -> Path:
    """Return the geodesic from a source to a point mass on x1. The default source is uniform.

    >>> path = build_path("geodesic", Vocabulary.single(4))
    >>> path.log_prob(torch.tensor([2]), torch.tensor([0.5], dtype=torch.float64)).exp()
    tensor([[0.0833, 0.0833, 0.7500, 0.0833]], dtype=torch.float64)
    """
    return GeodesicPath(vocabulary, sources.uniform(vocabulary) if source is None else source)
