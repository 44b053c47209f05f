"""Measures all rows of a bench, one after the other; what is finished is kept in a journal."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from pipeline.config import DataChoice, Oracle
from pipeline.errors import KinoflowError
from pipeline.flow.fitting import measure_errors
from pipeline.known.bench.errors import (
    Errors,
    drawn,
    errors_of_law,
    errors_of_samples,
    independent,
    labels_of,
)
from pipeline.known.bench.law import Laws
from pipeline.known.bench.rows import FITTED, Row, rows_of
from pipeline.known.bench.truth import Truth
from pipeline.store.journal import Journal
from pipeline.store.progress import Progress

PILOT_STEPS, PILOT_TOKENS = 32, 4000  # of each distribution
TRUE, NULL = "the truth itself (floor)", "independent tokens (null)"


def measure(data: DataChoice, oracle: Oracle, seed: int, finished: Journal, key: str) -> list[dict[str, Any]]:
    """Return the conditions and errors of all rows; those of references come first.

    All rows draw their samples with the same seed. Rows of one path come one after the other, because their laws share
    posteriors.
    """
    truth, rows = Truth.of(data, oracle, key), rows_of(oracle)
    names = [TRUE, NULL] if oracle.law == "samples" else [NULL]
    references = {name: finished.once(name, partial(_reference, name, truth, oracle, seed)) for name in names}
    errors: dict[Row, Errors] = {}
    with Progress("oracle", len(rows), unit="row") as progress:
        for path in oracle.paths:
            bench = _Bench(truth, oracle, path, seed)
            of_path = [row for row in rows if row.path == path]
            if any(map(_needs_pilot, of_path)):
                measured = tuple(finished.once(f"pilot {path}", partial(_pilot, data, oracle, path, seed, key)))
            for row in of_path:
                given = replace(row, measured=measured) if _needs_pilot(row) else row
                errors[row] = finished.once(str(row), partial(bench.errors, given))
                progress.advance(len(errors), row.path)
    found = [{"conditions": {"path": name}, "errors": of_one} for name, of_one in references.items()]
    return found + [{"conditions": row.conditions(oracle), "errors": errors[row]} for row in rows]


class _Bench:
    """Measures rows of one path."""

    def __init__(self, truth: Truth, oracle: Oracle, path: str, seed: int) -> None:
        self._truth, self._oracle, self._seed = truth, oracle, seed
        self._path = truth.path(oracle.paths[path])
        self._laws = Laws(truth, self._path) if oracle.law == "exact" else None

    def errors(self, row: Row) -> Errors:
        if self._laws is not None:
            return errors_of_law(self._truth, self._laws.law(row))
        generator = torch.Generator().manual_seed(self._seed)
        return errors_of_samples(self._truth, drawn(self._truth, self._path, row, self._oracle.count, generator))


def _needs_pilot(row: Row) -> bool:
    return row.grid == FITTED and row.measured is None


def _pilot(data: DataChoice, oracle: Oracle, path: str, seed: int, key: str) -> list[float]:
    """Return where a pilot run on a path makes its errors: on further chains, not on those that samplers are judged on.

    A grid that is fitted to what it is judged on would be better there than anywhere else.
    """
    others = Truth.of(data, oracle, key, start=oracle.distributions)
    if others.chains is None:
        raise KinoflowError(f"{key}: a fitted grid needs other distributions to be fitted on; take chains")
    built, total = others.path(oracle.paths[path]), others.count * (PILOT_TOKENS // others.length)
    return measure_errors(
        others.posterior(built),
        built,
        steps=PILOT_STEPS,
        shape=(total, others.length),
        labels=labels_of(others, total),
        generator=torch.Generator().manual_seed(seed),
    )


def _reference(name: str, truth: Truth, oracle: Oracle, seed: int) -> Errors:
    """Return the errors of fresh sequences of the truth, or of independent tokens."""
    if oracle.law == "exact":
        return errors_of_law(truth, independent(truth))
    assert truth.chains is not None, "the truth was checked"
    generator = torch.Generator().manual_seed(seed)
    total = truth.count * oracle.count
    fresh = truth.chains.sample(labels_of(truth, total), truth.length, generator)
    return errors_of_samples(truth, fresh if name == TRUE else _shuffled(truth, oracle, generator))


def _shuffled(truth: Truth, oracle: Oracle, generator: torch.Generator) -> Tensor:
    """Return sequences of independent tokens, [U * count, D]."""
    single = truth.neighbours(1).repeat_interleave(oracle.count, 0)
    return torch.multinomial(single, truth.length, replacement=True, generator=generator)
