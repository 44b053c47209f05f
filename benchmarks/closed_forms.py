"""How much faster are the closed forms than rows of K rates, and than a sum over x1?"""

import torch

from benchmarks.timing import Comparison, compare
from pipeline.flow.jumps import row_jump
from pipeline.flow.paths import build_path
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

JUMPS = (("mask", 878, 256), ("mask", 50257, 256), ("uniform", 50257, 256), ("metric", 256, 4096))


def answers() -> list[Comparison]:
    """Compare jumps of several paths, and marginal velocities."""
    return [jump(*case) for case in JUMPS] + [marginal(size, 64) for size in (64, 512)]


def jump(name: str, size: int, tokens: int) -> Comparison:
    """Compare a jump from general rows with the path's own jump."""
    path = build_path(name, Vocabulary.single(size, specials=1))
    generator = torch.Generator().manual_seed(0)
    x1 = torch.randint(size, (tokens,), generator=generator)
    t = torch.full((tokens,), 0.4, dtype=torch.float64)
    z, uniforms = path.sample(x1, t, generator), torch.rand(tokens, dtype=torch.float64, generator=generator)
    rows, closed = Rates(path, kinetic_optimal), rates_of(path, kinetic_optimal)
    return compare(
        f"jump, {name}, K = {size}",
        ("rows", lambda: row_jump(rows.net(x1, z, t)).destination(uniforms)),
        ("closed form", lambda: closed.jump(x1, z, t).destination(uniforms)),
    )


def marginal(size: int, tokens: int) -> Comparison:
    """Compare the marginal velocity as a sum over x1 with the mixture's closed form."""
    path = build_path("uniform", Vocabulary.single(size))
    z, t = torch.zeros(tokens, dtype=torch.int64), torch.full((tokens,), 0.4, dtype=torch.float64)
    posterior = torch.full((tokens, size), 1 / size, dtype=torch.float64)
    rows, closed = Rates(path, kinetic_optimal), rates_of(path, kinetic_optimal)
    return compare(
        f"marginal velocity, uniform, K = {size}",
        ("sum over x1", lambda: rows.marginal(posterior, z, t)),
        ("closed form", lambda: closed.marginal(posterior, z, t)),
    )
