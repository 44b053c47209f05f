"""How much faster are the closed forms than rows of K rates, and than a sum over x1?"""

import time
from collections.abc import Callable

import torch

from pipeline.flow.jumps import row_jump
from pipeline.flow.paths import build_path
from pipeline.flow.rates import Rates, rates_of
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least time that one call took."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def jump_ratio(name: str, size: int, tokens: int) -> float:
    """Return time of a jump from general rows over time of the path's own jump."""
    path = build_path(name, Vocabulary.single(size, specials=1))
    generator = torch.Generator().manual_seed(0)
    x1 = torch.randint(size, (tokens,), generator=generator)
    t = torch.full((tokens,), 0.4, dtype=torch.float64)
    z, uniforms = path.sample(x1, t, generator), torch.rand(tokens, dtype=torch.float64, generator=generator)
    rows, closed = Rates(path, kinetic_optimal), rates_of(path, kinetic_optimal)
    from_rows = seconds(lambda: row_jump(rows.net(x1, z, t)).destination(uniforms))
    own = seconds(lambda: closed.jump(x1, z, t).destination(uniforms))
    return from_rows / own


def marginal_ratio(size: int, tokens: int) -> float:
    """Return time of the marginal velocity as a sum over x1 over time of the mixture's closed form."""
    path = build_path("uniform", Vocabulary.single(size))
    z, t = torch.zeros(tokens, dtype=torch.int64), torch.full((tokens,), 0.4, dtype=torch.float64)
    posterior = torch.full((tokens, size), 1 / size, dtype=torch.float64)
    rates = (Rates(path, kinetic_optimal), rates_of(path, kinetic_optimal))
    summed, closed = (seconds(lambda form=form: form.marginal(posterior, z, t)) for form in rates)
    return summed / closed


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("general rows / closed form, time of a jump")
    for name, size, tokens in (
        ("mask", 878, 256),
        ("mask", 50257, 256),
        ("uniform", 50257, 256),
        ("metric", 256, 4096),
    ):
        print(f"  {name:8} K = {size:6}  {jump_ratio(name, size, tokens):8.1f}")
    print("sum over x1 / closed form, time of the marginal velocity of a mixture")
    for size in (64, 512):
        print(f"  uniform  K = {size:6}  {marginal_ratio(size, 64):8.1f}")
