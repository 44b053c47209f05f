"""Categorical draws in float64, and the filters that sharpen a distribution before a draw.

A draw takes exactly one uniform number per token, whatever the vocabulary and the chunks. So the same generator gives
the same tokens for any memory budget. Float32 Gumbel noise is common elsewhere, but it cuts off the tails.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.checks import check_count, check_peaks, check_positive, check_possible, forbid
from pipeline.flow.errors import FlowError
from pipeline.flow.exponentials import exp_of_scores


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


def draw_by_totals(running: Tensor, uniforms: Tensor, which: Tensor | None = None) -> Tensor:
    """Return what `draw` returns, from the running totals of the weights, float64[..., K].

    Several tokens may share a row: `which` [N] are their rows of running totals [M, K], for uniform numbers [N].
    """
    total = running[..., -1]
    forbid(
        ~((total > 0) & (total < torch.inf)),
        "weights: a row of a categorical distribution has no finite, positive total",
    )
    if which is None:
        return _passes(running, uniforms)
    share, flat, start = _share(total[which], uniforms), running.flatten(), which * running.shape[-1]
    last = torch.full_like(which, running.shape[-1] - 1)
    return bisect(lambda token: flat[start + token] > share, last, running.shape[-1])


def _passes(running: Tensor, uniforms: Tensor) -> Tensor:
    """Return the token at which each running total passes its share."""
    share = _share(running[..., -1], uniforms)
    return torch.searchsorted(running, share[..., None], right=True).squeeze(-1)


def _share(total: Tensor, uniforms: Tensor) -> Tensor:
    """Return the uniform numbers' share of the total; a product that rounds up does not pass the end."""
    return torch.minimum(uniforms * total, total.nextafter(torch.zeros_like(total)))


def bisect(passes: Callable[[Tensor], Tensor], last: Tensor, size: int) -> Tensor:
    """Return the first of the numbers 0, ..., last at which `passes` becomes true, or else the last; all [N].

    `passes` maps numbers to booleans and stays true once it is. All numbers are below `size`, which says how many
    rounds are needed without a look at them.

    >>> bisect(lambda number: number**2 >= 10, last=torch.tensor([9, 2]), size=10)
    tensor([4, 2])
    """
    low, high = torch.zeros_like(last), last
    for _ in range((size - 1).bit_length()):
        middle = (low + high) // 2
        passed = passes(middle)
        high = torch.where(passed, middle, high)
        low = torch.where(passed, low, middle + 1).minimum(high)
    return low


def draw_from_logits(
    logits: Tensor, uniforms: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Return a token for each row of logits [N, K], chosen by a uniform number [N]; in float64.

    >>> draw_from_logits(torch.tensor([[0.0, 1.0]]), torch.tensor([0.2], dtype=torch.float64), temperature=0.5)
    tensor([1])
    """
    rows = sharpen(logits.to(torch.float64, copy=True), temperature, top_k, top_p)
    peak = rows.amax(-1, keepdim=True)
    check_peaks(peak)
    check_possible(peak)
    running = torch.cumsum(exp_of_scores(rows.sub_(peak)), -1, out=rows)
    return _passes(running, uniforms).clamp_(max=logits.shape[-1] - 1)  # NaN passes nothing


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
