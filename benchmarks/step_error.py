"""How far does a chain of N steps stray from its path, for each velocity and kind of step?

The path is the paper's metric path for pixels (lp 3, a 5, c 1) on 16 tokens. The error is the largest total variation
over the grid, for the worst of three x1, computed from the full kernels without sampling noise.
"""

from itertools import pairwise

import torch

from pipeline.flow.paths import build_path
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary

SIZE = 16


def strays(transition: Transition, x1: int, steps: int) -> float:
    """Return the largest total variation between the chain given x1 and its path."""
    every, target, worst = torch.arange(SIZE), torch.full((SIZE,), x1), 0.0
    grid = torch.arange(steps).double() / steps
    prob = transition.path.log_prob(target[:1], grid[:1]).exp()[0]
    for t, t_next in pairwise(grid):
        prob = prob @ transition.probabilities(target, every, t.expand(SIZE), t_next.expand(SIZE))
        exact = transition.path.log_prob(target[:1], t_next[None]).exp()[0]
        worst = max(worst, float((prob - exact).abs().sum()) / 2)
    return worst


if __name__ == "__main__":
    torch.set_num_threads(1)
    path = build_path("metric", Vocabulary.single(SIZE))
    print(f"{'velocity':16} {'step':19}" + "".join(f"  N = {steps:4}" for steps in (32, 64, 128)))
    for velocity in VELOCITIES.names():
        for step in STEPS.names():
            transition = Transition(path, VELOCITIES.get(velocity), step)
            worst = [max(strays(transition, x1, steps) for x1 in (0, 5, 8)) for steps in (32, 64, 128)]
            print(f"{velocity:16} {step:19}" + "".join(f"  {value:8.4f}" for value in worst))
