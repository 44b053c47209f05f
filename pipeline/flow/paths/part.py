"""A path at positions of one kind."""

import torch
from torch import Tensor

from pipeline.flow.device import Table
from pipeline.flow.paths.base import Path


class Part:
    """A path at positions of one kind, perhaps over the tokens of this kind alone, numbered 0, 1, 2, ..."""

    def __init__(self, path: Path, tokens: Tensor | None = None, size: int = 0) -> None:
        """Take the path, and the `tokens` that it numbers out of `size`; None: it keeps the numbers of all tokens."""
        self.path, self._tokens, self._numbers = path, None, None
        if tokens is not None:
            numbers = torch.full((size,), -1).scatter(0, tokens, torch.arange(len(tokens)))
            self._tokens, self._numbers = Table(tokens), Table(numbers)

    def inside(self, tokens: Tensor) -> Tensor:
        """Return the numbers of tokens within the kind, -1 for other tokens."""
        return tokens if self._numbers is None else self._numbers.on(tokens.device)[tokens]

    def outside(self, numbers: Tensor) -> Tensor:
        """Return the tokens with these numbers within the kind."""
        return numbers if self._tokens is None else self._tokens.on(numbers.device)[numbers]
