"""The package flow_matching (CC BY-NC 4.0) as a peer: its solver for mixture paths draws crystals with our network.

It is no dependency, and none of its code is here: it is used as its documentation says. If it is not installed, a
throw-away folder gets it.
"""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from pipeline.flow.vocabulary import Vocabulary

PACKAGES = ("flow_matching==1.0.10", "torchdiffeq==0.2.5")  # the second is imported by the first
Solver = Callable[[Tensor, int], Tensor]  # from the tokens at time 0 and the number of steps to those at time 1


@contextlib.contextmanager
def installed() -> Iterator[str]:
    """Make the package importable while the context lasts, and yield why it is not, or nothing."""
    if find_spec("flow_matching") is not None:
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            yield f"{PACKAGES[0]} could not be installed: {reason}"
            return
        sys.path.insert(0, folder)
        try:
            yield ""
        finally:
            sys.path.remove(folder)


def solver(network: nn.Module, vocabulary: Vocabulary, kinds: Tensor) -> Solver:
    """Return its solver on a cubic mask path, for tokens of `kinds` [B, D].

    Its model gives probabilities. Here they respect the kinds, and a token that is not hidden stays, as in our sampler.
    """
    from flow_matching.path import MixtureDiscreteProbPath  # type: ignore[import-not-found, unused-ignore]
    from flow_matching.path.scheduler import PolynomialConvexScheduler  # type: ignore[import-not-found, unused-ignore]
    from flow_matching.solver import MixtureDiscreteEulerSolver  # type: ignore[import-not-found, unused-ignore]
    from flow_matching.utils import ModelWrapper  # type: ignore[import-not-found, unused-ignore]

    excluded = ~vocabulary.targets(kinds)

    class Posterior(ModelWrapper):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Tensor, t: Tensor, **extras: object) -> Tensor:
            logits = self.model(x, t.expand(len(x)))
            probabilities = logits.masked_fill_(excluded, -torch.inf).softmax(-1)
            known = x != vocabulary.mask
            probabilities[known] = 0
            return probabilities.scatter_add_(-1, x[..., None], known[..., None].to(probabilities.dtype))

    path = MixtureDiscreteProbPath(scheduler=PolynomialConvexScheduler(n=3.0))
    euler = MixtureDiscreteEulerSolver(model=Posterior(network), path=path, vocabulary_size=vocabulary.size)

    def draw(x: Tensor, steps: int) -> Tensor:
        with torch.no_grad():
            drawn: Tensor = euler.sample(x_init=x, step_size=1 / steps)
        return drawn

    return draw
