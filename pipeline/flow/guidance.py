"""Classifier-free guidance."""

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.posterior import Model


def guided(conditional: Model, unconditional: Model, scale: float) -> Model:
    """Return the model with logits u + scale (c - u), c and u those of the two models.

    scale = 1 is the conditional model itself, evaluated alone; 0 the unconditional one. A guided evaluation counts once
    as a function evaluation, though it runs both networks.
    """
    if not 0 <= scale < float("inf"):
        raise FlowError(f"scale: a finite guidance scale of at least 0 expected, got {scale}")
    if scale == 1:
        return conditional
    if scale == 0:
        return unconditional

    def model(x: Tensor, t: Tensor) -> Tensor:
        with_class, without = conditional(x, t), unconditional(x, t)
        excluded = (with_class == -torch.inf) | (without == -torch.inf)  # their difference would be NaN, or +inf
        return (without + scale * (with_class - without)).masked_fill(excluded, -torch.inf)

    return model
