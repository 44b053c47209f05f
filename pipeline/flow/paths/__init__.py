"""Probability paths by name.

To add a path, register a function that builds it, in a new file of this folder. Every velocity, sampler, loss, bound
and law test then knows it. The path itself need only say `log_prob(x1, t)`:

>>> @PATHS.register("bump")
... def bump_path(vocabulary, *, width=1.0):
...     number = torch.arange(vocabulary.size)
...     def log_prob(x1, t):
...         sharpness = (t / (1 - t))[..., None] / width
...         return torch.log_softmax(-sharpness * (number - x1[..., None]).abs(), dim=-1)
...     return FunctionPath(vocabulary, log_prob)
>>> path = build_path("bump", Vocabulary.single(5), width=0.5)
>>> path.log_prob(torch.tensor([1]), torch.tensor([0.5], dtype=torch.float64)).exp()
tensor([[0.1048, 0.7743, 0.1048, 0.0142, 0.0019]], dtype=torch.float64)
"""

import importlib
import pkgutil
from typing import Any

from pipeline.flow.paths.base import Path
from pipeline.flow.paths.registry import PATHS, known_to
from pipeline.flow.vocabulary import Vocabulary

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def build_path(name: str, vocabulary: Vocabulary, **options: Any) -> Path:
    """Return the path registered under `name` over `vocabulary`; an option that it does not take is an error.

    >>> build_path("metric", Vocabulary.single(256), lp=3, a=5, c=1).sample(
    ...     torch.tensor([[40, 200]]), torch.tensor([0.9]), torch.Generator().manual_seed(0)
    ... )
    tensor([[ 44, 201]])
    """
    return PATHS.bind(name, **options)(vocabulary)


def example_path(name: str, vocabulary: Vocabulary, **options: Any) -> Path:
    """Return the path registered under `name`, with made-up values for the options that come from data.

    >>> type(example_path("statistics", Vocabulary.single(5))).__name__  # the counts of tokens are made up
    'MixturePath'
    """
    return build_path(name, vocabulary, **(PATHS.example(name, vocabulary) | options))


__all__ = ["PATHS", "Path", "build_path", "example_path", "known_to"]
