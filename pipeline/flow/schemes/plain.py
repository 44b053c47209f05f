"""The plain scheme: the paper's sampler."""

from torch import Tensor

from pipeline.flow.schemes.base import Scheme, Walk
from pipeline.flow.schemes.registry import SCHEMES


class Plain(Scheme):
    """Draw x1 given x_t, then x_{t+h} given both."""

    def step(self, walk: Walk, x: Tensor, t: float, t_next: float) -> Tensor:
        return walk.move(x, walk.draw(x, t), t, t_next)


@SCHEMES.register("plain")
def plain() -> Scheme:
    """Return the scheme of the paper. It is of first order: in a step, no token knows of the others' jumps.

    >>> SCHEMES.get("plain")().evaluations
    1
    """
    return Plain()
