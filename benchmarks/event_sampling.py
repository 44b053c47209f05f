"""How much faster is event-driven sampling of crystals than asking the network in every step?

The network is untrained and has 3.5 million parameters. The path is the paper's mask path with a cubic scheduler.
"""

import torch
from torch import Tensor, nn

from benchmarks.timing import Comparison, compare
from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.tokens import ANGLE, ELEMENT, FRACTION, LENGTH, PADDING, PER_ATOM, length_of, vocabulary
from pipeline.flow import build_path, sample
from pipeline.flow.sampler import Samples

ATOMS = 20


def answers(crystals: int = 64, numbers: tuple[int, ...] = (50, 250)) -> list[Comparison]:
    """Compare both ways for several numbers of steps."""
    torch.manual_seed(0)
    network = build(Options(width=128, depth=8, heads=8, dropout=0.0), vocabulary(), length_of(ATOMS)).eval()
    return [_answer(network, layouts(crystals), steps) for steps in numbers]


def layouts(count: int) -> Tensor:
    """Return the kinds of the tokens of crystals with 1 to 20 atoms, [count, D]."""
    atoms = torch.randint(1, ATOMS + 1, (count,), generator=torch.Generator().manual_seed(0)).tolist()
    cell, atom, pads = [LENGTH] * 3 + [ANGLE] * 3, [ELEMENT] + [FRACTION] * 3, [PADDING] * PER_ATOM
    return torch.tensor([cell + atom * number + pads * (ATOMS - number) for number in atoms])


def _answer(network: nn.Module, kinds: Tensor, steps: int) -> Comparison:
    path = build_path("mask", vocabulary(), scheduler="cubic")

    def draw(way: str) -> Samples:
        generator = torch.Generator().manual_seed(0)
        return sample(
            network, path, kinds=kinds, steps=steps, way=way, generator=generator, answers_at=True, ragged=True
        )

    visits = draw("events").visits.double().mean()
    return compare(
        f"{len(kinds)} crystals, {steps} steps",
        ("steps", lambda: draw("steps")),
        ("events", lambda: draw("events")),
        repeats=3,
        note=f"{visits:.1f} evaluations a crystal instead of {steps}",
    )
