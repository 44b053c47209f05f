"""Where along t a sampler makes its errors, measured in a pilot run: what a fitted grid of times needs.

In a step, every token draws x1 without knowing of the others' jumps. This is an error only for tokens that jump, and
only as far as the others' jumps change their posterior. So the error of a step is measured by both together: for each
token that jumps in the next step, the total variation between its posterior and what it was a step earlier. This needs
no truth, so a network will do. Tokens that do not depend on each other show no error.
"""

from typing import Any

from torch import Tensor

from pipeline.flow.categorical import draw
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.posterior import Model
from pipeline.flow.sampler import sample
from pipeline.flow.schemes.base import Scheme, Walk
from pipeline.flow.schemes.theta_trapezoidal import carry

_LEAST = 1e-7  # times are float32, so that posteriors differ by about as much


class Pilot(Scheme):
    """The plain scheme, which notes the `errors` of its steps, from the second on."""

    def __init__(self) -> None:
        self.errors: list[float] = []
        self._last: tuple[Tensor, Tensor, float] | None = None

    def step(self, walk: Walk, x: Tensor, t: float, t_next: float) -> Tensor:
        posterior = walk.probabilities(x, t)
        moved = walk.move(x, draw(posterior, walk.uniforms(x)), t, t_next)
        if self._last is not None:
            expected = carry(walk.transition.path, *self._last, x, t)
            change = (posterior - expected).abs().sum(-1) / 2
            self.errors.append(float((change * (moved != x)).mean()))
        self._last = posterior, x, t
        return moved


def measure_errors(model: Model, path: Path, *, steps: int = 64, **sampling: Any) -> list[float]:
    """Return for `steps` equal parts of the time how much error is made there; `sampling` is as for `sample`.

    These numbers are what the grid `fitted` takes as `measured`. The error of a step grows with the square of its
    length, so they are the square roots of the errors in a pilot run: then all steps make the same error.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> model = ExactPosterior(path, torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.5, 0.5]))
    >>> generator = torch.Generator().manual_seed(0)
    >>> measured = measure_errors(model, path, steps=4, shape=(1000, 2), generator=generator)
    >>> [round(time, 1) for time in GRIDS.bind("fitted", measured=measured)(path, 2)]
    [0.0, 0.5, 1.0]
    """
    if steps < 3:
        raise FlowError(f"steps: a pilot run needs at least 3, got {steps}")
    pilot = Pilot()
    sample(model, path, steps=steps, scheme=pilot, way="steps", **sampling)
    errors = [pilot.errors[0], *pilot.errors]  # nothing is known of the first step; it is taken to be like the second
    if max(errors) < _LEAST:
        raise FlowError("measured: the pilot run made no error, so there is nothing to fit a grid to; take uniform")
    return [error**0.5 for error in errors]
