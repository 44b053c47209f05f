"""Categorical draws in float64, and the filters that sharpen a distribution before a draw.

A draw takes exactly one uniform number per token, whatever the vocabulary and the chunks. So the same generator gives
the same tokens for any memory budget. Float32 Gumbel noise is common elsewhere, but it cuts off the tails.
"""

import torch
from torch import Tensor

from pipeline.flow.checks import check_count, check_positive
from pipeline.flow.errors import FlowError


def uniform(shape: torch.Size | tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
    """Draw float64 numbers in [0, 1) from `generator`."""
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def draw(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Return one token for each row of `weights` [..., K], chosen by a uniform number [...].

    It is the token at which the running total passes that share of the whole.

    >>> draw(torch.tensor([1.0, 2.0, 1.0]), torch.tensor(0.5, dtype=torch.float64))
    tensor(1)
    """
    return draw_by_totals(weights.double().cumsum(-1), uniforms)


def draw_by_totals(running: Tensor, uniforms: Tensor) -> Tensor:
    """Return what `draw` returns, from the running totals of the weights, float64[..., K]."""
    total = running[..., -1:]
    if not bool((total > 0).all()) or not bool(total.isfinite().all()):
        raise FlowError("weights: a row of a categorical distribution has no finite, positive total")
    token = torch.searchsorted(running, uniforms[..., None] * total, right=True)
    last = (running < total).sum(-1, keepdim=True)  # uniforms * total may round up to the total itself
    return torch.minimum(token, last).squeeze(-1)


def sharpen(logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Return logits divided by the temperature, with all but the likeliest tokens removed.

    `top_k` keeps the k likeliest tokens, `top_p` the fewest tokens that together reach the probability p.

    >>> sharpen(torch.tensor([2.0, 1.0, 0.0]), temperature=0.5, top_k=2)
    tensor([4., 2., -inf])
    """
    check_positive(temperature, "temperature")
    logits = logits / temperature if temperature != 1.0 else logits
    if top_k is not None:
        check_count(top_k, "top_k")
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise FlowError(f"top_p: must lie in (0, 1], got {top_p}")
        ordered, order = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
        surplus = ordered.cumsum(-1) - ordered >= top_p
        logits = logits.masked_fill(torch.zeros_like(surplus).scatter(-1, order, surplus), -torch.inf)
    return logits
