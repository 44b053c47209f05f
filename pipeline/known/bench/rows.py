"""The rows of the bench: which sampler each one measures, and what the tables say about it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from torch import Tensor

from pipeline.config import Corrector, Oracle
from pipeline.flow.errors import FlowError
from pipeline.flow.grids import GRIDS
from pipeline.flow.paths import Path
from pipeline.flow.schemes import Scheme, build_scheme
from pipeline.flow.state import State, at
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.net_rates import out_of

CONTROL = "wrong sign (control)"  # a broken velocity: a bench that does not notice it sees nothing
NONE = "none"
PLAIN, FITTED = "plain", "fitted"
CONDITIONS = ("path", "scheduler", "velocity", "step", "scheme", "grid", "corrector", "weight", "NFE")


def wrong_sign(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Return the kinetic-optimal velocity with one sign flipped: dp(x) + p(x) dlog p(z)."""
    return out_of(z, state, state.prob_dot + state.prob * at(state.log_prob_dot, z))


Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Row:
    """One sampler at one number of evaluations; `path` is its name in the configuration.

    A fitted grid needs what was `measured`; the bench measures it if the configuration does not give it.
    """

    path: str
    velocity: str
    options: Options
    step: str
    grid: str
    corrector: Corrector | None
    evaluations: int
    scheme: str = PLAIN
    scheme_options: Options = ()
    measured: tuple[float, ...] | None = None

    @property
    def follows(self) -> Velocity:
        """The velocity as a function."""
        return wrong_sign if self.velocity == CONTROL else VELOCITIES.bind(self.velocity, **dict(self.options))

    @property
    def uses(self) -> Scheme:
        """The scheme."""
        return build_scheme(self.scheme, **dict(self.scheme_options))

    def times(self, path: Path) -> list[float]:
        """Return the grid of times. A scheme that asks the model twice in a step makes half as many steps."""
        each = self.uses.evaluations
        if self.evaluations % each:
            raise FlowError(f"steps: {self.evaluations} evaluations, but {self.scheme!r} makes {each} in each step")
        given = {} if self.measured is None else {"measured": list(self.measured)}
        times: list[float] = GRIDS.bind(self.grid, **given)(path, self.evaluations // each)
        return times

    def conditions(self, oracle: Oracle) -> dict[str, Any]:
        """Return what the tables say about the row, by `CONDITIONS`."""
        path = oracle.paths[self.path]
        return {
            "path": path.name,
            "scheduler": path.options.get("scheduler", _options(path.options)),
            "velocity": _labelled(self.velocity, self.options),
            "step": self.step,
            "scheme": _labelled(self.scheme, self.scheme_options),
            "grid": self.grid,
            "corrector": self.corrector.kind.name if self.corrector else NONE,
            "weight": _weight(self.corrector) if self.corrector else "",
            "NFE": self.evaluations,
        }


def _labelled(name: str, options: Options) -> str:
    return f"{name} ({_options(dict(options))})" if options else name


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in options.items())


def _weight(corrector: Corrector) -> str:
    """Return the weight of a corrector as a formula, such as `4 t (1-t)`."""
    powers = ((corrector.rise, "t"), (corrector.fall, "(1-t)"))
    factors = [base if power == 1 else f"{base}^{power:g}" for power, base in powers if power]
    return " ".join([f"{corrector.weight:g}", *factors])


def rows_of(oracle: Oracle) -> list[Row]:
    """Return all rows, each once; the control follows every path at the numbers of steps of the first block."""
    first = oracle.rows[0]
    control = (
        Row(path, CONTROL, (), "exact", "uniform", None, steps)
        for path, steps in product(first.paths or oracle.paths, first.steps)
    )
    return list(dict.fromkeys([*_listed(oracle), *control]))


def _listed(oracle: Oracle) -> Iterator[Row]:
    for block in oracle.rows:
        chosen = product(
            block.paths or oracle.paths,
            block.velocity,
            block.step,
            block.grid,
            block.corrector,
            block.scheme,
            block.steps,
        )
        for path, velocity, step, grid, corrector, scheme, steps in chosen:
            options, of_scheme = tuple(velocity.options.items()), tuple(scheme.options.items())
            measured = tuple(grid.options["measured"]) if "measured" in grid.options else None
            common = (path, velocity.name, options, step.name, grid.name, corrector, steps)
            yield Row(*common, scheme.name, of_scheme, measured)
