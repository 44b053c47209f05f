"""Batches as a function of the seed and the step."""

import itertools

import torch

from pipeline.training.batches import Batches

TOKENS = torch.arange(10)[:, None]


def test_an_epoch_has_every_row_once() -> None:
    batches = Batches(TOKENS, 4, seed=0)
    rows = torch.cat([*itertools.chain(*(batches.at(step) for step in range(5)))]).flatten()  # two epochs
    assert sorted(rows[:10].tolist()) == sorted(rows[10:].tolist()) == list(range(10))
    assert rows[:10].tolist() != rows[10:].tolist()


def test_a_batch_does_not_depend_on_those_before() -> None:
    one, other = Batches(TOKENS, 4, seed=0), Batches(TOKENS, 4, seed=0)
    for step in (7, 0, 3):
        assert torch.equal(one.at(step)[0], other.at(step)[0])
    assert torch.equal(one.at(7)[0], Batches(TOKENS, 4, seed=0).at(7)[0])


def test_another_seed_gives_another_order() -> None:
    assert not torch.equal(Batches(TOKENS, 10, seed=0).at(0)[0], Batches(TOKENS, 10, seed=1).at(0)[0])


def test_a_batch_may_be_larger_than_the_data() -> None:
    counts = Batches(TOKENS, 25, seed=0).at(0)[0].flatten().bincount()
    assert counts.sum() == 25
    assert set(counts.tolist()) == {2, 3}
