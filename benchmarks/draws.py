"""How much faster are draws of x1 from logits, and of x_t from a metric path, than from normalised rows?

The slow ways are those that the project used before. They check every row, normalise it, and draw from a copy of it.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks.metric_steps import code_path, old_distances, old_log_softmax
from benchmarks.timing import Comparison, compare, exponent
from pipeline.crystals.tokens import vocabulary
from pipeline.flow.categorical import draw_from_logits
from pipeline.flow.chunks import row_chunks
from pipeline.flow.paths import Path, build_path
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.posterior import Asked, PosteriorSampler
from pipeline.flow.vocabulary import Vocabulary

SIZES = {256: 16384, 16384: 256, 50257: 64}  # tokens of the vocabulary: tokens drawn


def answers(sizes: dict[int, int] = SIZES, codes: int = 16384) -> list[Comparison]:
    """Compare draws of x1 for several vocabularies, and draws of x_t for pixels and for codes."""
    of_sizes = [
        x1_from_logits(Vocabulary.single(size, specials=1), torch.zeros(1, tokens).long(), f"x1, K = {size}")
        for size, tokens in sizes.items()
    ]
    slow, fast = (
        exponent(list(sizes), [answer.seconds[way] / sizes[size] for answer, size in zip(of_sizes, sizes, strict=True)])
        for way in (0, 1)
    )
    note = f"{of_sizes[-1].note}; the times of a token grow with K to the power {slow:.2f} and {fast:.2f}"
    of_sizes[-1] = replace(of_sizes[-1], note=note)
    crystals = vocabulary()
    of_crystals = x1_from_logits(
        crystals, torch.arange(crystals.kinds).repeat(16, 64), f"x1, K = {crystals.size}, kinds"
    )
    pixels = x_t(build_path("metric", Vocabulary.single(256)), 8, 3072, "x_t of pixels, K = 256")
    return [*of_sizes, of_crystals, pixels, x_t(code_path(codes), 2, 64, f"x_t of codes, K = {codes}")]


def x1_from_logits(known: Vocabulary, kinds: Tensor, case: str) -> Comparison:
    """Compare draws at positions of `kinds`, all of them masked."""
    path, generator = build_path("mask", known), torch.Generator().manual_seed(0)
    x = torch.full_like(kinds, known.mask)
    logits = 3 * torch.randn(*kinds.shape, known.size, generator=generator)
    uniforms, asked = (
        torch.rand(kinds.numel(), dtype=torch.float64, generator=generator),
        Asked.everything(kinds, known),
    )
    sampler, t = PosteriorSampler(lambda x, t: logits, path, draw_from_logits), torch.zeros(len(x))
    slow = partial(old_draw, path, logits.flatten(0, 1), x.flatten(), kinds.flatten(), uniforms)
    fast = partial(sampler.draw, x, t, asked, uniforms)
    return compare(case, ("normalised rows", slow), ("running totals", fast), note=_same(slow(), fast()))


def x_t(path: Path, rows: int, columns: int, case: str) -> Comparison:
    """Compare draws of x_t for sequences of random tokens, each at a time of its own."""
    assert isinstance(path, MetricPath)
    generator = torch.Generator().manual_seed(0)
    x1 = torch.randint(path.vocabulary.size, (rows * columns,), generator=generator)
    t = torch.rand(rows, dtype=torch.float64, generator=generator).repeat_interleave(columns)
    uniforms = torch.rand(len(x1), dtype=torch.float64, generator=generator)
    slow, fast = partial(old_tokens_at, path, x1, t, uniforms), partial(path.tokens_at, x1, t, uniforms)
    return compare(case, ("normalised rows", slow), ("running totals", fast), note=_same(slow(), fast()))


def _same(slow: Tensor, fast: Tensor) -> str:
    return f"{float((slow == fast).double().mean()):.2%} of the tokens are the same"


def old_draw(path: Path, logits: Tensor, z: Tensor, kinds: Tensor, uniforms: Tensor) -> Tensor:
    """Draw x1 as it was drawn before: from rows over the whole vocabulary."""
    drawn = torch.empty_like(z)
    for part in row_chunks(len(z), logits.shape[-1]):
        rows, absorbed, here = logits[part].double(), path.absorbed(z[part], kinds[part])[..., None], z[part][..., None]
        assert bool((rows.amax(-1) < torch.inf).all())
        excluded = ~path.vocabulary.targets(kinds[part]) | absorbed
        excluded = excluded.scatter(-1, here, excluded.gather(-1, here) & ~absorbed)
        rows = rows.masked_fill(excluded, -torch.inf)
        assert bool((rows.amax(-1) > -torch.inf).all())
        drawn[part] = old_draw_by_totals(rows.softmax(-1).double().cumsum(-1), uniforms[part])
    return drawn


def old_tokens_at(path: MetricPath, x1: Tensor, t: Tensor, uniforms: Tensor) -> Tensor:
    """Draw x_t as it was drawn before: from a copy of its row for each token."""
    tokens = torch.empty_like(x1)
    for part in row_chunks(len(x1), path.vocabulary.size):
        data, times = x1[part], t[part]
        places, which = old_distinct_rows(data, times) or (slice(None), slice(None))
        log_prob = old_log_softmax(
            old_distances(path, data[places]), path.clock(data[places], times[places])[..., None]
        )
        assert bool((log_prob.logsumexp(-1).abs() < 1e-6).all())
        tokens[part] = old_draw_by_totals(log_prob.exp().cumsum(-1)[which], uniforms[part])
    return tokens


def old_draw_by_totals(running: Tensor, uniforms: Tensor) -> Tensor:
    """Return the token at which each running total passes its share, after the checks there were."""
    total = running[..., -1:]
    assert bool((total > 0).all())
    assert bool(total.isfinite().all())
    token = torch.searchsorted(running, uniforms[..., None] * total, right=True)
    return torch.minimum(token, (running < total).sum(-1, keepdim=True)).squeeze(-1)


def old_distinct_rows(*columns: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return the places of distinct rows and the number of each row's equal, as they were found before."""
    codes = torch.zeros_like(columns[0], dtype=torch.int64)
    for column in columns:
        values, numbers = column.unique(return_inverse=True)
        _, codes = (codes * len(values) + numbers).unique(return_inverse=True)
    count = int(codes.max()) + 1
    if count > codes.numel() / 2:
        return None
    places = torch.empty(count, dtype=torch.int64)
    places[codes] = torch.arange(len(codes))
    return places, codes
