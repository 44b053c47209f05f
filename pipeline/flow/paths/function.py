"""A user's own path, given by nothing but its log-probability."""

from collections.abc import Callable

from torch import Tensor

from pipeline.flow.paths.base import Path
from pipeline.flow.vocabulary import Vocabulary


class FunctionPath(Path):
    """The path log_prob(x1, t) -> [..., K]; all else, its derivative included, is derived from it."""

    def __init__(self, vocabulary: Vocabulary, log_prob: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(vocabulary)
        self._log_prob = log_prob

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        return self._log_prob(x1, t)
