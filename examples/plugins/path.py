"""A probability path: tokens on a ring, where a bump around x1 sharpens. Copy to pipeline/flow/paths/ring.py.

In the configuration: `path: {name: ring, sharpness: 4}`. Everything else follows from `log_prob`, even its derivative.
"""

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.paths.registry import PATHS
from pipeline.flow.vocabulary import Vocabulary


@PATHS.register("ring")
def ring(vocabulary: Vocabulary, *, sharpness: float = 4.0) -> FunctionPath:
    """Return the path with p_t(x | x1) ~ exp(sharpness t / (1 - t) cos(angle between x and x1)).

    >>> path = build_path("ring", Vocabulary.single(6))
    >>> path.log_prob(torch.tensor([2]), torch.tensor([0.0], dtype=torch.float64)).exp()
    tensor([[0.1667, 0.1667, 0.1667, 0.1667, 0.1667, 0.1667]], dtype=torch.float64)
    """
    check_positive(sharpness, "sharpness")
    tokens = torch.arange(vocabulary.size)

    def log_prob(x1: Tensor, t: Tensor) -> Tensor:  # [...], [...] -> [..., K]
        place = tokens.to(x1.device)
        angle = 2 * torch.pi * (place - x1[..., None]) / vocabulary.size
        return torch.log_softmax(sharpness * (t / (1 - t))[..., None] * torch.cos(angle), dim=-1)

    return FunctionPath(vocabulary, log_prob)
