"""What losses need of each row of K logits, in chunks that stay in the cache.

Autograd's own functions would write rows of K numbers about ten times; this writes nothing but the gradient.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from pipeline.flow import chunks
from pipeline.flow.checks import check_peaks, check_possible, check_size
from pipeline.flow.chunks import row_chunks
from pipeline.flow.exponentials import exp_of_scores
from pipeline.flow.vocabulary import Vocabulary

_IN_CACHE = 2**25  # budget of a chunk on a CPU


def row_terms(
    vocabulary: Vocabulary,
    logits: Tensor,
    x1: Tensor,
    x_t: Tensor,
    rates: Tensor | None = None,
    of: Tensor | None = None,
    *,
    without_x_t: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logit of x1, log Z, and the sum over y != x_t of rates(y) p(y), each [...], from logits [..., K].

    p is the softmax over the tokens that can be data where x1 is, and Z its denominator: log p(x1) is the difference of
    the first two. `without_x_t` leaves x_t out of Z. The rates broadcast to [..., K], or rates[of] does; without rates
    the sum is 0. The terms are float32, or float64 if the logits are.

    >>> vocabulary, logits = Vocabulary.single(3), torch.tensor([[1.0, 2.0, 1.0]]).log()
    >>> terms = row_terms(vocabulary, logits, torch.tensor([1]), torch.tensor([0]), torch.ones(3))
    >>> terms[0].exp(), terms[1].exp(), terms[2]
    (tensor([2.]), tensor([4.]), tensor([0.7500]))
    """
    kinds = vocabulary.kinds_of(x1)
    check_size(logits, vocabulary.size)
    possible = vocabulary.targets(torch.arange(vocabulary.kinds, device=x1.device))
    outside = torch.zeros(possible.shape, device=x1.device).masked_fill(~possible, -torch.inf)
    table = which = None
    if rates is not None:
        table = rates.reshape(-1, rates.shape[-1]).to(torch.promote_types(logits.dtype, torch.float32))
        of = torch.arange(len(table), device=x1.device).view(rates.shape[:-1]) if of is None else of
        which = of.expand(x1.shape).flatten()
    rows, tokens = logits.reshape(-1, vocabulary.size), (kinds.flatten(), x1.flatten(), x_t.flatten())
    terms = _RowTerms.apply(rows, outside, *tokens, table, which, without_x_t)
    logit, log_total, elsewhere = (term.view(x1.shape) for term in terms)
    check_peaks(log_total)
    if not without_x_t:  # or nothing may be left
        check_possible(log_total)
    return logit, log_total, elsewhere


class _RowTerms(Function):
    """The terms of `row_terms` for logits [n, K], with rates table[which]."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        outside: Tensor,
        kinds: Tensor,
        x1: Tensor,
        x_t: Tensor,
        table: Tensor | None,
        which: Tensor | None,
        without_x_t: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype = torch.promote_types(logits.dtype, torch.float32)
        logit, log_total, elsewhere, at_x_t = torch.zeros(4, len(logits), dtype=dtype, device=logits.device)
        for rows in _chunks(logits):
            row, here = _possible(logits, outside, kinds, rows), x_t[rows, None]
            logit[rows] = row.gather(-1, x1[rows, None]).squeeze(-1)
            if without_x_t:
                row.scatter_(-1, here, -torch.inf)
            peak = row.amax(-1, keepdim=True).clamp_(min=torch.finfo(dtype).min)  # a row may be all -inf
            total = exp_of_scores(row.sub_(peak)).sum(-1, keepdim=True)
            log_total[rows] = (peak + total.log()).squeeze(-1)
            if table is not None and which is not None:
                at_x_t[rows] = (row.gather(-1, here) / total).squeeze(-1)
                weights, kept = table[which[rows]], row.scatter_(-1, here, 0.0)
                same = weights.shape[-1] == 1
                leaving = weights.squeeze(-1) * kept.sum(-1) if same else torch.linalg.vecdot(kept, weights)
                elsewhere[rows] = leaving / total.squeeze(-1)
        ctx.save_for_backward(logits, outside, kinds, x1, x_t, table, which, log_total, elsewhere, at_x_t)
        ctx.without_x_t = without_x_t
        return logit, log_total, elsewhere

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return p(y) (of_total + of_sum (rates(y) [y != x_t] - sum)) for all y, and of_logit more at x1."""
        logits, outside, kinds, x1, x_t, table, which, log_total, elsewhere, at_x_t = ctx.saved_tensors
        of_logit, of_total, of_sum = gradients
        result = torch.empty_like(logits)
        shared = (of_total - of_sum * elsewhere)[:, None]
        log_total = log_total.clamp(min=torch.finfo(log_total.dtype).min)
        for rows in _chunks(logits):
            row, here = _possible(logits, outside, kinds, rows), x_t[rows, None]
            if ctx.without_x_t:
                row.scatter_(-1, here, -torch.inf)
            exp_of_scores(row.sub_(log_total[rows, None]))
            if table is None:
                row.mul_(shared[rows])
            else:
                weights = table[which[rows]]
                row.mul_(torch.addcmul(shared[rows], of_sum[rows, None], weights))
                weight = weights if weights.shape[-1] == 1 else weights.gather(-1, here)
                row.scatter_add_(-1, here, -(of_sum * at_x_t)[rows, None] * weight)
            row.scatter_add_(-1, x1[rows, None], of_logit[rows, None])
            result[rows] = row
        return (result, *(None,) * 7)


def _possible(logits: Tensor, outside: Tensor, kinds: Tensor, rows: slice) -> Tensor:
    """Return a copy of some rows, with -inf for tokens that cannot be data."""
    return logits[rows] + (outside if len(outside) == 1 else outside[kinds[rows]])


def _chunks(logits: Tensor) -> Iterator[slice]:
    budget = min(_IN_CACHE, chunks.MEMORY_BUDGET) if logits.device.type == "cpu" else None
    return row_chunks(len(logits), logits.shape[1], budget)
