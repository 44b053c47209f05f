"""How much faster are steps on metric paths than rows of rates for every token?

The large vocabulary has random codes on a sphere, 16,384 in 8 dimensions as in the paper's tokenizer of images, with
its path (lp 4, a 0.9, c 3). The small one has the 256 values of a pixel (lp 3, a 5, c 1). A step is 1/64 long.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import normalize

from benchmarks.timing import Comparison, compare, exponent
from pipeline.flow.categorical import draw_by_totals
from pipeline.flow.chunks import row_chunks
from pipeline.flow.closed_forms.metric import LARGEST_TABLE
from pipeline.flow.paths import Path, build_path
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.steps import Transition, exact
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

STEP = 1 / 64
TIMES = (0.2, 0.5, 0.9)


def answers(codes: int = 16384, tokens: int = 256, pixels: int = 16384) -> list[Comparison]:
    """Compare steps among codes and among pixels at several times, and see how they grow with the number of codes."""
    of_codes = {t: step(code_path(codes), tokens, t, f"{codes} codes") for t in TIMES}
    fewer = [step(code_path(size), tokens, 0.5, f"{size} codes") for size in (codes // 4, codes // 2)]
    sizes, grown = [codes / 4, codes / 2, codes], [answer.seconds for answer in (*fewer, of_codes[0.5])]
    slow, fast = (exponent(sizes, [seconds[way] for seconds in grown]) for way in (0, 1))
    note = f"{of_codes[0.5].note}; the times grow with K to the power {slow:.2f} and {fast:.2f}"
    of_codes[0.5] = replace(of_codes[0.5], note=note)
    of_pixels = [step(build_path("metric", Vocabulary.single(256)), pixels, t, "256 pixel values") for t in TIMES]
    return [*of_codes.values(), *fewer, *of_pixels]


def code_path(codes: int) -> Path:
    """Return the paper's path between codes, with random ones."""
    embeddings = normalize(torch.randn(codes, 8, generator=torch.Generator().manual_seed(0)), dim=-1)
    return build_path("metric", Vocabulary.single(codes), lp=4, a=0.9, c=3, embeddings=embeddings, check=False)


def step(path: Path, tokens: int, t: float, case: str) -> Comparison:
    """Compare one step of some tokens; their x_t are drawn from the path."""
    generator = torch.Generator().manual_seed(1)
    x1 = torch.randint(path.vocabulary.size, (tokens,), generator=generator)
    z = path.sample(x1, torch.full((tokens,), t, dtype=torch.float64), generator)
    transition = Transition(path, kinetic_optimal, "exact")
    ways = (partial(advance_by_rows, transition), transition.advance)
    slow, fast = (partial(lambda way: way(z, x1, t, t + STEP, torch.Generator().manual_seed(2)), way) for way in ways)
    same = float((slow() == fast()).double().mean())
    moved = float((fast() != z).double().mean())
    note = f"{moved:.1%} of {tokens} tokens move"
    if path.vocabulary.size > LARGEST_TABLE:  # below, destinations are drawn in the order of their distances
        note += f", and {same:.2%} are where rows put them"
    return compare(f"{case}, t = {t}", ("rows", slow), ("closed form", fast), repeats=3, note=note)


def advance_by_rows(
    transition: Transition, z: Tensor, x1: Tensor, t: float, t_next: float, generator: torch.Generator
) -> Tensor:
    """Draw the next tokens from a row of rates for each token. This is what steps did before they had a bound."""
    path = transition.path
    assert isinstance(path, MetricPath)
    chances, places = (torch.rand(z.shape, dtype=torch.float64, generator=generator) for _ in range(2))
    moved = torch.empty_like(z)
    for part in row_chunks(len(z), path.vocabulary.size):
        start, end = (torch.full(z[part].shape, time, dtype=torch.float64) for time in (t, t_next))
        distances = old_distances(path, x1[part])
        prob = old_log_softmax(distances, path.clock(x1[part], start)[..., None]).exp()
        from_z = distances.gather(-1, z[part][..., None])
        net = prob * torch.where((distances < torch.inf) & (from_z < torch.inf), from_z - distances, 0.0)
        rates = net.clamp(min=0)
        rate = rates.sum(-1)
        leaves = chances[part] < exact(path, rate, x1[part], start, end)
        destinations = draw_by_totals((rates + (rate == 0)[..., None]).cumsum(-1), places[part])
        moved[part] = torch.where(leaves, destinations, z[part])
    return moved


def old_distances(path: MetricPath, x1: Tensor) -> Tensor:
    """Return d(x, x1), as rows were computed before."""
    inside = path.vocabulary.targets(path.vocabulary.kinds_of(x1))
    embeddings, power = path.distance._embeddings.values, float(path.distance.lp)  # type: ignore[attr-defined]
    norms = torch.cdist(embeddings[x1], embeddings, compute_mode="donot_use_mm_for_euclid_dist")
    return torch.where(inside, norms**power, torch.inf)


def old_log_softmax(distances: Tensor, beta: Tensor) -> Tensor:
    """Return log softmax(-beta d), as it was computed before."""
    outside = distances == torch.inf
    exponents = torch.where(outside | (distances == 0), 0.0, -beta * torch.where(outside, 0.0, distances))
    return torch.log_softmax(torch.where(outside, -torch.inf, exponents), dim=-1)
