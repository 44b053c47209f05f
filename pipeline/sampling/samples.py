"""Sets of samples in safetensors files: tokens, tokens along the way, and how they were drawn."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.sampling.joining import AXES, KIND
from pipeline.store.parts import writing
from pipeline.store.tensors import read_tensors, write_tensors

EVALUATED = "evaluated"  # column of the tables: how often the network was evaluated for a sample, on average


@dataclass(frozen=True)
class SampleSet:
    """Tokens [N, D], conditions for tables (run, n, NFE, ...), and frames: the tokens at some `times`, [F, N, D].

    If the network is told classes, `labels` are the requested classes [N]. `visits` [N] says how often the network was
    really evaluated for each sample: less often than NFE if some steps could not change it.
    """

    tokens: Tensor
    conditions: dict[str, Any]
    times: tuple[float, ...] = ()
    frames: Tensor = field(default_factory=lambda: torch.empty(0, 0, 0))
    labels: Tensor | None = None
    visits: Tensor | None = None

    def save(self, path: Path) -> None:
        """Write the file."""
        tensors = {"tokens": self.tokens.to(torch.int32), "frames": self.frames.to(torch.int32)}
        known = {"labels": self.labels, "visits": self.visits}
        tensors |= {name: values.to(torch.int32) for name, values in known.items() if values is not None}
        write_tensors(path, KIND, tensors, _description(self.conditions, self.times))

    @classmethod
    def load(cls, path: Path, *, with_tokens: bool = True) -> "SampleSet":
        """Read the file; tokens and frames may be large, and are left out if not wanted."""
        tensors, description = read_tensors(path, KIND)
        try:
            said = _Described.model_validate_json(json.dumps(description))  # JSON: a list is a tuple
        except ValidationError as error:
            raise _damaged(path, "what it says of them") from error
        conditions, times = dict(said.conditions), said.times
        if not isinstance(conditions.get("run"), str) or not isinstance(conditions.get("seed"), int):
            raise _damaged(path, "their run or seed")
        _check_shapes(path, tensors, len(times))
        labels, visits = (tensors[name].long() if name in tensors else None for name in ("labels", "visits"))
        if visits is not None and len(visits):
            conditions = _after("NFE", EVALUATED, round(visits.double().mean().item(), 2), conditions)
        tokens, frames = tensors["tokens"], tensors["frames"]
        if not with_tokens:
            tokens, times, frames = tokens[:, :0], (), frames[:0]
        return cls(tokens.long(), conditions, times, frames.long(), labels, visits)


class _Described(BaseModel):
    """What a file says besides its tensors."""

    model_config = ConfigDict(strict=True, extra="forbid")

    conditions: list[tuple[str, Any]]
    times: tuple[float, ...]


class Drawn(NamedTuple):
    """Tokens [N, D], those at `times` [F, N, D], evaluations of the network [N], and classes [N] if it is told any."""

    tokens: Tensor
    frames: Tensor
    visits: Tensor
    labels: Tensor | None = None


def write_blocks(
    path: Path,
    blocks: Iterable[Drawn],
    shape: tuple[int, int],
    conditions: Mapping[str, Any],
    times: Sequence[float],
    labelled: bool,
) -> None:
    """Write samples of a `shape` [N, D] block by block: the file that `SampleSet.save` writes, but in little memory."""
    count, _ = shape
    shapes = {"tokens": shape, "frames": (len(times), *shape), "visits": (count,)}
    first = 0
    with writing(
        path, KIND, shapes | ({"labels": (count,)} if labelled else {}), AXES, _description(conditions, times)
    ) as file:
        for drawn in blocks:
            for name in file.shapes:
                file.write(name, first, getattr(drawn, name).numpy())
            first += len(drawn.tokens)


def _check_shapes(path: Path, tensors: Mapping[str, Tensor], times: int) -> None:
    """Raise unless there are tokens [N, D], as many of them at each time, and one label and number of visits each."""
    if "tokens" not in tensors or tensors["tokens"].dim() != 2:
        raise _damaged(path, "tokens")
    count, length = tensors["tokens"].shape
    shapes = {"tokens": (count, length), "labels": (count,), "visits": (count,)}
    shapes["frames"] = (times, count, length) if times else tuple(tensors.get("frames", torch.empty(0)).shape)
    for name in ("frames", *tensors):
        if name not in tensors or tuple(tensors[name].shape) != shapes.get(name) or tensors[name].is_floating_point():
            raise _damaged(path, name)


def _damaged(path: Path, what: str) -> KinoflowError:
    return KinoflowError(f"{path}: {what} is not that of samples; remove it and draw them again")


def _description(conditions: Mapping[str, Any], times: Sequence[float]) -> dict[str, Any]:
    return {"conditions": list(conditions.items()), "times": times}


def _after(key: str, name: str, value: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary with one more entry after that of `key`."""
    place = list(given).index(key) + 1 if key in given else len(given)
    items = list(given.items())
    return dict([*items[:place], (name, value), *items[place:]])
