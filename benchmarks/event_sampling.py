"""How much faster is event-driven sampling of crystals than asking the network in every step, and than a peer?

The network is untrained and has 3.5 million parameters. The path is the paper's mask path with a cubic scheduler. The
peer is the solver of the package flow_matching with the same network, crystals and scheduler.
"""

from statistics import median

import torch
from torch import Tensor, nn

from benchmarks import peer
from benchmarks.timing import Comparison, compare, cpu_seconds, exponent
from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.tokens import ANGLE, ELEMENT, FRACTION, LENGTH, PADDING, PER_ATOM, length_of, vocabulary
from pipeline.flow import build_path, sample
from pipeline.flow.sampler import Samples

ATOMS = 20
OPTIONS = Options(width=128, depth=8, heads=8, dropout=0.0)
STEPS = (50, 250)
PEER_STEPS = {50: 3, 250: 2, 1000: 1}  # repeats; a thousand steps of the peer take minutes
CRYSTALS = (16, 64, 256)
ROUNDS = 3  # of the sizes, in turns, to see how the time grows with each


def answers(
    crystals: int = 64,
    steps: tuple[int, ...] = STEPS,
    peer_steps: dict[int, int] | None = None,
    options: Options = OPTIONS,
    sizes: tuple[int, ...] = CRYSTALS,
) -> list[Comparison]:
    """Compare with asking in every step, then with the peer, then show how the time grows."""
    torch.manual_seed(0)
    network = build(options, vocabulary(), length_of(ATOMS)).eval()
    found = [_against_steps(network, layouts(crystals), count) for count in steps]
    found += _against_peer(network, layouts(crystals), PEER_STEPS if peer_steps is None else peer_steps)
    return found + _growth(network, sizes, steps)


def layouts(count: int, atoms: int | None = None) -> Tensor:
    """Return the kinds of the tokens of crystals with 1 to 20 atoms, or all with so many, [count, D]."""
    drawn = torch.randint(1, ATOMS + 1, (count,), generator=torch.Generator().manual_seed(0)).tolist()
    cell, atom, pads = [LENGTH] * 3 + [ANGLE] * 3, [ELEMENT] + [FRACTION] * 3, [PADDING] * PER_ATOM
    numbers = drawn if atoms is None else [atoms] * count
    return torch.tensor([cell + atom * number + pads * (ATOMS - number) for number in numbers])


def _draw(network: nn.Module, kinds: Tensor, steps: int, way: str = "events") -> Samples:
    path, generator = build_path("mask", vocabulary(), scheduler="cubic"), torch.Generator().manual_seed(0)
    return sample(network, path, kinds=kinds, steps=steps, way=way, generator=generator, answers_at=True, ragged=True)


def _evaluations(network: nn.Module, kinds: Tensor, steps: int) -> str:
    visits = _draw(network, kinds, steps).visits.double().mean()
    return f"{visits:.1f} evaluations a crystal instead of {steps}"


def _against_steps(network: nn.Module, kinds: Tensor, steps: int) -> Comparison:
    return compare(
        f"{len(kinds)} crystals, {steps} steps",
        ("steps", lambda: _draw(network, kinds, steps, "steps")),
        ("events", lambda: _draw(network, kinds, steps)),
        repeats=3 if steps <= 50 else 2,
        note=_evaluations(network, kinds, steps),
        rehearse=steps <= 50,
    )


def _against_peer(network: nn.Module, kinds: Tensor, steps: dict[int, int]) -> list[Comparison]:
    """Compare with the peer for several numbers of steps, each with its repeats; nothing if it cannot be had."""
    if not steps:
        return []
    with peer.installed() as problem:
        if problem:
            print(f"the comparison with flow_matching is left out: {problem}", flush=True)
            return []
        solve = peer.solver(network, vocabulary(), kinds)
        hidden = build_path("mask", vocabulary()).sample_source(kinds, torch.Generator().manual_seed(0))
        return [
            compare(
                f"{len(kinds)} crystals, {count} steps, against flow_matching",
                ("flow_matching", lambda count=count: solve(hidden, count)),  # type: ignore[misc]
                ("events", lambda count=count: _draw(network, kinds, count)),  # type: ignore[misc]
                repeats=repeats,
                note=_evaluations(network, kinds, count),
                rehearse=count <= 50,
            )
            for count, repeats in steps.items()
        ]


def _growth(network: nn.Module, sizes: tuple[int, ...], steps: tuple[int, ...]) -> list[Comparison]:
    """Return how the CPU time grows with the steps, the crystals and the tokens; the ratio is that of the extremes."""
    middle, most = sizes[len(sizes) // 2], steps[-1]
    grid = [most // 5, most, 4 * most]
    cases = {
        "steps": ([float(count) for count in grid], [(layouts(middle), count) for count in grid]),
        "crystals": ([float(size) for size in sizes], [(layouts(size), most) for size in sizes]),
        "tokens": (
            [float(length_of(atoms)) for atoms in (5, 10, ATOMS)],
            [(layouts(middle, atoms), most) for atoms in (5, 10, ATOMS)],
        ),
    }
    found = []
    for name, (values, runs) in cases.items():
        rounds = [
            [cpu_seconds(lambda run=run: _draw(network, *run)) for run in runs]  # type: ignore[misc]
            for _ in range(ROUNDS)
        ]
        ratios, seconds = (
            [times[-1] / times[0] for times in rounds],
            [median(times) for times in zip(*rounds, strict=True)],
        )
        both = seconds[-1], seconds[0]
        ways = (f"{values[-1]:g} {name}", f"{values[0]:g} {name}")
        note = f"CPU time grows as {name}^{exponent(values, seconds):.2f}"
        found.append(
            Comparison(f"events: growth with {name}", ways, median(ratios), min(ratios), max(ratios), both, note)
        )
    return found
