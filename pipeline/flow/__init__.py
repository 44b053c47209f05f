"""The paper's mathematics: paths, velocities, steps, losses and likelihood bounds.

Conventions, the same in every module of this package:

- Tokens ``x, z, x1`` are ``int64[...]``, usually ``[B, D]``. Time ``t`` lies in ``[0, 1]``, with data at ``t = 1``.
  Logits are ``[..., K]``.
- ``u(x, z)`` is the rate of the jump from ``z`` to ``x``. The last axis of a row of rates is ``x``. The rates out of
  one state, its own included, sum to zero.
- Probabilities, derivatives and categorical draws are float64, whatever the precision of the network.
- A path has its own clock ``s(t)`` (see :mod:`pipeline.flow.paths.base`). Derivatives and rates are taken with respect
  to ``s``, so they stay finite where ``ds/dt`` does not.
- One vocabulary serves every position. Each data token belongs to a kind, and each position has one kind. So the token
  ``x1`` at a position tells which conditional path is followed there (see :mod:`pipeline.flow.vocabulary`).

This package imports nothing else of ours. Its public names are listed in :mod:`pipeline.flow.public` and are imported
on first use: ``import pipeline.flow`` is fast and needs no torch. Examples in docstrings assume ``import torch`` and
``from pipeline.flow import *``.

>>> import torch
>>> from pipeline.flow import Vocabulary, build_path, sample
>>> path = build_path("mask", Vocabulary.single(4, specials=1), scheduler="cubic")
>>> def model(x, t):  # logits of p(x1 | x_t); here token 2, whatever x_t is
...     return torch.tensor([0.0, 0.0, 9.0, 0.0, 0.0]).expand(*x.shape, 5)
>>> sample(model, path, shape=(2, 6), steps=8, generator=torch.Generator().manual_seed(0)).tokens
tensor([[2, 2, 2, 2, 2, 2],
        [2, 2, 2, 2, 2, 2]])
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.flow.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Return a public name, importing it on first use."""
    private = name.startswith("_") and name != "__all__"
    if not private and importlib.util.find_spec(f"{__name__}.{name}") is None:  # a module is not a public name
        public = importlib.import_module(f"{__name__}.public")
        if name == "__all__" or name in public.__all__:
            return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module(f"{__name__}.public").__all__})
