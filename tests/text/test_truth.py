"""Trained networks and their bounds against a Markov chain of which everything is known: the test of the whole method.

The negative log-likelihood of a model cannot lie below the entropy of the data in the mean, and a bound on it neither.
The chain's exact posterior, by the forward-backward algorithm, says how low the bound of each path can get.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pipeline.config import ModelChoice, PathChoice, Training
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths.base import Path as ProbabilityPath
from pipeline.known.chain import ChainPosterior
from pipeline.known.datasets import markov
from pipeline.networks.objective import FlowObjective, NextTokenObjective, Objective
from pipeline.networks.saved import new_network, path_for
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric

SEED = 0
CHAIN = markov.Options(states=10, length=16, concentration=0.5, train=20_000, validation=64, test=400)
ENTROPY = markov.entropy(CHAIN) / CHAIN.length  # nats per token
SIZE: dict[str, Any] = {"width": 32, "depth": 2, "heads": 2, "dropout": 0.0}
TRAINING = Training(batch=64, learning_rate=5e-3, warmup=20, ema=0.99, validate_every=10_000, checkpoint_every=10_000)
POINTS = 64

PATHS: dict[str, dict[str, Any]] = {
    "mask": {"name": "mask", "scheduler": "kinetic_optimal"},
    "uniform": {"name": "statistics", "scheduler": "kinetic_optimal", "beta_0": 0.0},
    "rare": {"name": "statistics", "scheduler": "kinetic_optimal", "beta_0": 1.0},
}


@pytest.fixture(scope="module")
def data() -> TokenData:
    return markov.prepare(CHAIN, SEED, Path())


@pytest.fixture(scope="module")
def truth(data: TokenData) -> Tensor:
    """The true negative log-likelihoods of the test sequences in nats per token, [N]."""
    x, start, matrix = data.test, markov.stationary(CHAIN), markov.transitions(CHAIN)
    return -(start[x[:, 0]].log() + matrix[x[:, :-1], x[:, 1:]].log().sum(-1)) / CHAIN.length


def trained(folder: Path, data: TokenData, model: dict[str, Any], objective: Objective, steps: int) -> nn.Module:
    """Return a network after training, with averaged weights."""
    torch.manual_seed(derive_seed(SEED, "weights"))
    network = new_network(ModelChoice(**SIZE, **model), data)
    training = TRAINING.model_copy(update={"steps": steps})
    fabric, checkpoints = new_fabric(training, 0, "none"), Checkpoints(folder, "none")
    return fit(fabric, network, objective, data.train, data.validation, training, SEED, checkpoints).network.eval()


def nats_of_bound(model: Callable[[Tensor, Tensor], Tensor], path: ProbabilityPath, data: TokenData) -> Tensor:
    """Return the bounds on the negative log-likelihoods of the test sequences in nats per token, [N]."""
    generator = torch.Generator().manual_seed(derive_seed(SEED, "bound"))
    bound = evaluate_bound(model, path, data.test.long(), generator=generator, points=POINTS)
    return -bound.log_prob / CHAIN.length


def excess(nats: Tensor, truth: Tensor) -> tuple[float, float]:
    """Return how far nats per token [N] lie above the true ones in the mean, per nat of entropy, and its error.

    In expectation that is their distance from the entropy, but with a smaller error: sequences that are unlikely under
    the chain are so under a model too.
    """
    difference = (nats - truth) / ENTROPY
    return float(difference.mean()), float(difference.std() / len(difference) ** 0.5)


def test_the_likelihood_of_an_autoregressive_network_comes_close_to_the_entropy_from_above(
    data: TokenData, truth: Tensor, tmp_path: Path
) -> None:
    objective = NextTokenObjective(data.vocabulary)
    network = trained(tmp_path, data, {"name": "text_autoregressive"}, objective, steps=300)
    with torch.no_grad():
        nats = objective(network, data.test, torch.Generator()).double().mean(-1)
    above, error = excess(nats, truth)
    assert -3 * error < above < 0.03


@pytest.mark.parametrize("name, steps", [("mask", 400), ("uniform", 300), ("rare", 300)])
def test_the_bound_of_a_network_lies_a_little_above_that_of_the_exact_posterior_and_both_above_the_entropy(
    name: str, steps: int, data: TokenData, truth: Tensor, tmp_path: Path
) -> None:
    path = path_for(PathChoice(**PATHS[name]), data)
    objective = FlowObjective(path, LOSSES.bind("mixture_elbo"), TRAINING.time_end)
    model = {"name": "text_dit", "condition": 32, "time": path.needs_time}
    network = nats_of_bound(trained(tmp_path, data, model, objective, steps), path, data)
    exact = nats_of_bound(ChainPosterior(path, markov.chain(CHAIN)), path, data)
    for nats, below in ((network, truth), (exact, truth), (network, exact)):
        above, error = excess(nats, below)
        assert above > -3 * error
    assert excess(network, exact)[0] < 0.15
    if name == "mask":  # the only path whose bound can be the likelihood itself
        above, error = excess(exact, truth)
        assert abs(above) < 3 * error < 0.03
        assert excess(network, truth)[0] < 0.1
