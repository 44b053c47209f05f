"""A path for each kind of position: for example a mask path at some positions and a metric path at others."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from pipeline.flow.closed_forms import kindwise
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.part import Part
from pipeline.flow.paths.registry import PATHS, known_to
from pipeline.flow.state import State
from pipeline.flow.vocabulary import Vocabulary


class KindwisePath(Path):
    """Follows paths[k] where x1 is of kind k. The paths share one vocabulary."""

    closed_forms = kindwise.CLOSED_FORMS

    def __init__(self, vocabulary: Vocabulary, paths: Sequence[Path]) -> None:
        super().__init__(vocabulary)
        if len(paths) != vocabulary.kinds:
            raise FlowError(f"paths: one for each of {vocabulary.kinds} kinds of positions expected, got {len(paths)}")
        if any(path.vocabulary is not vocabulary for path in paths):
            raise FlowError("paths: all paths must be built over the vocabulary that is given")
        self.paths = paths
        self.needs_time = any(path.needs_time for path in paths)
        self.ends_at_x1 = all(path.ends_at_x1 for path in paths)

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.of_kinds(self.vocabulary.kinds_of(x1), lambda path, here: path.log_prob(x1[here], t[here]))

    def clock(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.of_kinds(self.vocabulary.kinds_of(x1), lambda path, here: path.clock(x1[here], t[here]))

    def clock_rate(self, x1: Tensor, t: Tensor) -> Tensor:
        return self.of_kinds(self.vocabulary.kinds_of(x1), lambda path, here: path.clock_rate(x1[here], t[here]))

    def increment(self, x1: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
        kinds = self.vocabulary.kinds_of(x1)
        return self.of_kinds(kinds, lambda path, here: path.increment(x1[here], t[here], t_next[here]))

    def state(self, x1: Tensor, t: Tensor) -> State:
        kinds = self.vocabulary.kinds_of(x1)
        fields = self.of_kinds(
            kinds,
            lambda path, here: torch.stack(
                [(state := path.state(x1[here], t[here])).log_prob, state.prob_dot, state.log_prob_dot], dim=-1
            ),
        )
        return State(*fields.unbind(-1))

    def source(self, kinds: Tensor) -> Tensor:
        return self.of_kinds(kinds, lambda path, here: path.source(kinds[here]))

    @cached_property
    def _absorbed(self) -> Table:
        tokens = torch.arange(self.vocabulary.size)
        rows = [path.absorbed(tokens, torch.full_like(tokens, kind)) for kind, path in enumerate(self.paths)]
        return Table(torch.stack(rows))

    @cached_property
    def parts(self) -> list[Part]:
        return [path.parts[kind] if path.parts else Part(path) for kind, path in enumerate(self.paths)]

    def of_kinds(self, kinds: Tensor, function: Callable[[Path, Tensor], Tensor]) -> Tensor:
        """Call a function of (path, mask of its positions) for each path, and put the results back in their places."""
        masks = [kinds == kind for kind in range(len(self.paths))]
        parts = [function(path, here) for path, here in zip(self.paths, masks, strict=True)]
        places = torch.cat([here.flatten().nonzero().squeeze(-1) for here in masks])
        merged = torch.cat(parts)[torch.argsort(places)]
        return merged.reshape(*kinds.shape, *merged.shape[1:])


@PATHS.register("kindwise")
def kindwise_path(
    vocabulary: Vocabulary,
    *,
    paths: Sequence[dict[str, Any]] = (),
    counts: Tensor | None = None,
    distances: Tensor | None = None,
) -> Path:
    """Return the path that follows paths[k] = {name, options} at positions of kind k.

    By default the kinds take turns with metric and uniform. The `counts` of tokens and the `distances` between them are
    passed on to the paths that take them.

    >>> elements_and_angles = Vocabulary([0, 0, 0, 1, 1, 1, 1, -1])  # tokens 0..2, tokens 3..6, a mask
    >>> path = build_path("kindwise", elements_and_angles, paths=[{"name": "mask"}, {"name": "metric", "lp": 2}])
    >>> path.log_prob(torch.tensor([1, 4]), torch.tensor([0.5, 0.5], dtype=torch.float64)).exp()
    tensor([[0.0000, 0.5000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.5000],
            [0.0000, 0.0000, 0.0000, 0.2616, 0.4079, 0.2616, 0.0689, 0.0000]],
           dtype=torch.float64)
    """
    known = {key: value for key, value in (("counts", counts), ("distances", distances)) if value is not None}
    chosen = paths or [{"name": ("metric", "uniform")[kind % 2]} for kind in range(vocabulary.kinds)]
    built: list[Path] = []
    for entry in chosen:
        if "name" not in entry:
            raise FlowError(f"paths: every entry needs a name, got {dict(entry)}")
        options = {key: value for key, value in entry.items() if key != "name"}
        built.append(PATHS.bind(entry["name"], **options, **known_to(entry["name"], known))(vocabulary))
    return KindwisePath(vocabulary, built)
