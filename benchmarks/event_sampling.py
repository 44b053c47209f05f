"""How much faster is event-driven sampling of crystals than asking the network in every step?

The network is untrained and has 3.5 million parameters. The path is the paper's mask path with a cubic scheduler. Times
are CPU times of one thread. The two ways take turns three times, and the median ratio is printed.
"""

import statistics
import sys
import time

import torch
from torch import Tensor, nn

from pipeline.crystals.networks.crystal_dit import Options, build
from pipeline.crystals.tokens import ANGLE, ELEMENT, FRACTION, LENGTH, PADDING, PER_ATOM, length_of, vocabulary
from pipeline.flow import build_path, sample

ATOMS = 20


def layouts(count: int) -> Tensor:
    """Return the kinds of the tokens of crystals with 1 to 20 atoms, [count, D]."""
    atoms = torch.randint(1, ATOMS + 1, (count,), generator=torch.Generator().manual_seed(0)).tolist()
    cell, atom, pads = [LENGTH] * 3 + [ANGLE] * 3, [ELEMENT] + [FRACTION] * 3, [PADDING] * PER_ATOM
    return torch.tensor([cell + atom * number + pads * (ATOMS - number) for number in atoms])


def seconds(network: nn.Module, kinds: Tensor, steps: int, way: str) -> tuple[float, float]:
    """Return the CPU seconds of drawing crystals, and how often the network was evaluated for each."""
    path, start = build_path("mask", vocabulary(), scheduler="cubic"), time.process_time()
    generator = torch.Generator().manual_seed(0)
    drawn = sample(network, path, kinds=kinds, steps=steps, way=way, generator=generator, answers_at=True, ragged=True)
    return time.process_time() - start, drawn.visits.double().mean().item()


def main(crystals: int = 64, numbers: tuple[int, ...] = (50, 250)) -> None:
    """Print the ratio for several numbers of steps."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = build(Options(width=128, depth=8, heads=8, dropout=0.0), vocabulary(), length_of(ATOMS)).eval()
    kinds = layouts(crystals)
    print(f"{crystals} crystals: CPU time of steps / events, and evaluations of the network for each crystal")
    for steps in numbers:
        pairs = [(seconds(network, kinds, steps, "steps"), seconds(network, kinds, steps, "events")) for _ in range(3)]
        ratio = statistics.median(plain / fast for (plain, _), (fast, _) in pairs)
        print(f"  {steps:5} steps  {ratio:6.1f}  {pairs[0][1][1]:6.1f} instead of {steps}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
