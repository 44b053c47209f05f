"""Classifier-free guidance."""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.posterior import Model


def guided(conditional: Model, unconditional: Model, scale: float) -> Model:
    """Return the model with logits u + scale (c - u), where c and u are the logits of the two models.

    scale = 1 returns the conditional model itself and 0 the unconditional one, so only one network runs. A guided
    evaluation runs both networks and counts as one function evaluation.

    >>> def cat(x, t):
    ...     return torch.tensor([2.0, 0.0]).expand(*x.shape, 2)
    >>> def any_image(x, t):
    ...     return torch.zeros(*x.shape, 2)
    >>> guided(cat, any_image, scale=1.5)(torch.tensor([[0]]), torch.tensor([0.5]))
    tensor([[[3., 0.]]])
    """
    if not 0 <= scale < float("inf"):
        raise FlowError(f"scale: a finite guidance scale of at least 0 expected, got {scale}")
    if scale == 1:
        return conditional
    if scale == 0:
        return unconditional

    def model(x: Tensor, t: Tensor, **given: Tensor) -> Tensor:
        with_class, without = conditional(x, t, **given), unconditional(x, t, **given)
        excluded = (with_class == -torch.inf) | (without == -torch.inf)  # their difference would be NaN, or +inf
        return (without + scale * (with_class - without)).masked_fill(excluded, -torch.inf)

    return model
