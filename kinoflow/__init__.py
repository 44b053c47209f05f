"""Kinoflow for programs: the mathematics of `pipeline.flow`, and crystals in a few calls.

Define a path and sample from it:

>>> import torch, kinoflow
>>> def log_prob(x1, t):  # [...], [...] -> [..., 5]: a bump around x1 that sharpens
...     distance = (torch.arange(5) - x1[..., None]).abs()
...     return torch.log_softmax(-4 * (t / (1 - t))[..., None] * distance, dim=-1)
>>> path = kinoflow.FunctionPath(kinoflow.Vocabulary.single(5), log_prob)
>>> model = kinoflow.ExactPosterior(path, torch.tensor([[1], [3]]), torch.tensor([0.5, 0.5], dtype=torch.float64))
>>> drawn = kinoflow.sample(model, path, shape=(200, 1), steps=20, generator=torch.Generator().manual_seed(0))
>>> sorted(drawn.tokens.unique().tolist())
[1, 3]

Load weights, generate crystals, relax them, evaluate them:

    model = kinoflow.load_weights("mp20_part_ordered")  # or kinoflow.trained("mask_ko") after the demo
    structures = model.generate(8, formula="NaCl", seed=0)
    relaxed = kinoflow.relax(structures)
    scores = kinoflow.evaluate(structures, "results/NaCl", relax=4)

The structures are pymatgen's. Names are imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinoflow.crystals import *  # noqa: F403
    from pipeline.flow.public import *  # noqa: F403

_MODULES = ("kinoflow.crystals", "pipeline.flow.public")


def __getattr__(name: str) -> Any:
    """Return a public name of one of the modules."""
    if name == "__all__":
        return [public for module in _MODULES for public in importlib.import_module(module).__all__]
    if not name.startswith("_"):
        for module in map(importlib.import_module, _MODULES):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
