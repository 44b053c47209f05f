"""The Markov chain: its entropy is what its sequences have, and its sequences are what its entropy says."""

import itertools
import math
from pathlib import Path

import pytest
import torch

from pipeline.known.datasets.markov import Options, entropy, prepare, stationary, transitions, vocabulary

TINY = Options(states=3, length=4, concentration=0.5, train=40000, validation=5, test=7)


def probability(sequence: tuple[int, ...], options: Options) -> float:
    matrix = transitions(options)
    steps = (float(matrix[a, b]) for a, b in itertools.pairwise(sequence))
    return float(stationary(options)[sequence[0]]) * math.prod(steps)


def test_entropy_is_that_of_all_sequences_enumerated() -> None:
    q = [probability(sequence, TINY) for sequence in itertools.product(range(3), repeat=4)]
    assert sum(q) == pytest.approx(1, abs=1e-12)
    assert entropy(TINY) == pytest.approx(-sum(p * math.log(p) for p in q if p), abs=1e-10)


def test_sequences_occur_as_often_as_they_are_probable(tmp_path: Path) -> None:
    data = prepare(TINY, seed=0, cache=tmp_path)
    number = (data.train * torch.tensor([27, 9, 3, 1])).sum(-1)
    shares = number.bincount(minlength=81) / len(data.train)
    expected = [probability(sequence, TINY) for sequence in itertools.product(range(3), repeat=4)]
    assert (shares - torch.tensor(expected)).abs().max() < 0.01
    assert (len(data.validation), len(data.test), data.length) == (5, 7, 4)


def test_mean_negative_log_likelihood_of_long_sequences_is_the_entropy(tmp_path: Path) -> None:
    options = Options(states=8, length=64, concentration=0.3, train=2000, validation=1, test=1)
    tokens = prepare(options, seed=3, cache=tmp_path).train
    log_pi, log_p = stationary(options).log(), transitions(options).log()
    nats = -(log_pi[tokens[:, 0]] + log_p[tokens[:, :-1], tokens[:, 1:]].sum(-1))
    error = float(nats.std()) / math.sqrt(len(nats))
    assert abs(float(nats.mean()) - entropy(options)) < 4 * error


@pytest.mark.parametrize("concentration", [1e-3, 0.05, 1.0, 100.0])
def test_stationary_distribution_does_not_change_by_a_step(concentration: float) -> None:
    options = Options(states=20, concentration=concentration)
    pi, matrix = stationary(options), transitions(options)
    assert torch.allclose(matrix.sum(-1), torch.ones(20, dtype=torch.float64))
    assert torch.allclose(pi @ matrix, pi, atol=1e-9)
    assert pi.sum() == pytest.approx(1)
    assert bool((pi >= 0).all())


def test_rows_spread_as_their_concentration_says() -> None:
    narrow, wide = (transitions(Options(states=200, concentration=a)) for a in (0.1, 10.0))
    # The sum of squares of a symmetric Dirichlet draw is (1 + a) / (1 + K a) in the mean.
    assert float((narrow**2).sum(-1).mean()) == pytest.approx(1.1 / 21, rel=0.1)
    assert float((wide**2).sum(-1).mean()) == pytest.approx(11 / 2001, rel=0.05)


def test_the_chain_depends_on_its_own_seed_only(tmp_path: Path) -> None:
    assert not torch.equal(transitions(TINY), transitions(TINY.model_copy(update={"chain_seed": 1})))
    one, other = (prepare(TINY, seed=seed, cache=tmp_path) for seed in (0, 1))
    assert not torch.equal(one.train, other.train)
    assert torch.equal(one.train, prepare(TINY, seed=0, cache=tmp_path).train)


def test_there_is_a_token_for_each_state_and_a_mask() -> None:
    assert (vocabulary(TINY).size, vocabulary(TINY).mask) == (4, 3)
