"""Chains: what they say about sequences, and the exact posterior, against enumeration."""

import math

import pytest
import torch

from pipeline.flow.paths import Path, build_path
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.vocabulary import Vocabulary
from pipeline.known.chain import ChainPosterior, Chains
from pipeline.known.datasets import hidden_markov, markov

VISIBLE = markov.chain(markov.Options(states=3, length=4, concentration=0.5))
HIDDEN = hidden_markov.chain(hidden_markov.Options(hidden=4, states=3, length=4, concentration=0.4))
EVERY = torch.cartesian_prod(*[torch.arange(3)] * 4)
CHAINS = {"visible": VISIBLE, "hidden": HIDDEN}
PATHS = {
    "mask": build_path("mask", Vocabulary.single(3, specials=1)),
    "uniform": build_path("uniform", Vocabulary.single(3)),
    "metric": build_path("metric", Vocabulary.single(3), lp=2, a=1, c=2),
    "hybrid": build_path("hybrid", Vocabulary.single(3, specials=1)),
}


@pytest.mark.parametrize("chains", CHAINS.values(), ids=CHAINS)
def test_likelihoods_are_those_of_all_neighbours_and_add_up_to_one(chains: Chains) -> None:
    log_q = chains.log_prob(EVERY, torch.zeros(len(EVERY), dtype=torch.int64))
    assert float(log_q.exp().sum()) == pytest.approx(1, abs=1e-12)
    torch.testing.assert_close(log_q.exp(), chains.neighbours(4)[0].flatten(), rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(chains.neighbours(3)[0], chains.neighbours(4)[0].sum(0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("chains", CHAINS.values(), ids=CHAINS)
def test_posterior_by_messages_is_that_by_enumeration(chains: Chains, path: Path) -> None:
    listed = ExactPosterior(path, EVERY, chains.neighbours(4)[0].flatten())
    messages = ChainPosterior(path, chains)
    generator = torch.Generator().manual_seed(0)
    for time in (0.1, 0.5, 0.9):
        x = path.sample(EVERY, torch.full((len(EVERY),), time), generator)
        t = torch.full((len(EVERY),), time)
        torch.testing.assert_close(messages(x, t).exp(), listed(x, t).exp(), rtol=1e-8, atol=1e-10)


def test_every_sequence_has_its_own_chain_and_time() -> None:
    several = Chains.stacked([markov.chain(markov.Options(states=3, chain_seed=seed)) for seed in (0, 1)])
    path = PATHS["uniform"]
    x, t, labels = EVERY[:40], torch.linspace(0.1, 0.9, 40), torch.arange(40) % 2
    together = ChainPosterior(path, several)(x, t, labels)
    for row in range(40):
        alone = Chains(*(part[labels[row], None] for part in vars(several).values()))
        one = ChainPosterior(path, alone)(x[row, None], t[row, None])[0]
        torch.testing.assert_close(together[row], one, rtol=1e-10, atol=1e-12)


def test_tokens_that_no_sequence_can_have_made_are_taken_by_themselves() -> None:
    swaps = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)  # 0 1 0 1 ... or 1 0 1 0 ...
    chain = Chains(torch.full((1, 2), 0.5).double(), swaps, torch.eye(2, dtype=torch.float64)[None])
    path = build_path("mask", Vocabulary.single(2, specials=1))
    found = ChainPosterior(path, chain)(torch.tensor([[0, 0, 2]]), torch.tensor([0.5])).exp()
    assert found[0, :, :2].tolist() == [[1, 0], [1, 0], [0.5, 0.5]]


@pytest.mark.parametrize("chains", CHAINS.values(), ids=CHAINS)
def test_sequences_occur_as_often_as_they_are_probable(chains: Chains) -> None:
    drawn = chains.sample(torch.zeros(40_000, dtype=torch.int64), 3, torch.Generator().manual_seed(0))
    shares = torch.bincount((drawn * torch.tensor([9, 3, 1])).sum(-1), minlength=27) / len(drawn)
    assert float((shares - chains.neighbours(3)[0].flatten()).abs().max()) < 0.01


def test_only_a_chain_that_emits_something_else_than_its_states_is_hidden() -> None:
    assert not VISIBLE.hidden
    assert HIDDEN.hidden
    square = hidden_markov.chain(hidden_markov.Options(hidden=3, states=3))
    assert square.hidden


def test_prepared_sequences_of_a_hidden_chain_have_its_entropy() -> None:
    options = hidden_markov.Options(hidden=3, states=3, length=4, concentration=0.4, train=20_000, validation=1, test=1)
    chain, data = hidden_markov.chain(options), hidden_markov.prepare(options, 0, None)  # type: ignore[arg-type]
    nats = -chain.log_prob(data.train.long(), torch.zeros(20_000, dtype=torch.int64))
    entropy = float(torch.special.entr(chain.neighbours(4)).sum())
    assert abs(float(nats.mean()) - entropy) < 4 * float(nats.std()) / math.sqrt(len(nats))
