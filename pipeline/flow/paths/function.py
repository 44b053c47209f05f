"""A user's own path, given by nothing but its log-probability."""

from collections.abc import Callable

from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.vocabulary import Vocabulary


class FunctionPath(Path):
    """The path log_prob(x1, t) -> [..., K]; all else, its derivative included, is derived from it."""

    def __init__(self, vocabulary: Vocabulary, log_prob: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(vocabulary)
        self._log_prob = log_prob

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        values = self._log_prob(x1, t)
        if values.shape != (*x1.shape, self.vocabulary.size):
            expected = (*x1.shape, self.vocabulary.size)
            raise FlowError(
                f"log_prob: returned shape {tuple(values.shape)} for {self.vocabulary.size} tokens; {expected} expected"
            )
        return values.double()
