"""A path given by nothing but a function: its log-probability."""

from collections.abc import Callable

from torch import Tensor

from pipeline.flow.paths.base import Path
from pipeline.flow.vocabulary import Vocabulary


class FunctionPath(Path):
    """The path with log_prob(x1, t) -> [..., K]. Everything else follows from the function, even its derivative.

    >>> def log_prob(x1, t):  # tokens on a ring of 6; mass gathers around x1
    ...     angle = 2 * torch.pi * (torch.arange(6) - x1[..., None]) / 6
    ...     return torch.log_softmax(4 * (t / (1 - t))[..., None] * torch.cos(angle), dim=-1)
    >>> path = FunctionPath(Vocabulary.single(6), log_prob)
    >>> path.sample(torch.full((1, 8), 2), torch.tensor([0.5]), torch.Generator().manual_seed(0))
    tensor([[3, 2, 2, 3, 2, 2, 2, 2]])
    """

    def __init__(self, vocabulary: Vocabulary, log_prob: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(vocabulary)
        self._log_prob = log_prob

    def log_prob(self, x1: Tensor, t: Tensor) -> Tensor:
        return self._log_prob(x1, t)
