"""Batches as a function of the seed and the step."""

import itertools

import pytest
import torch

from pipeline.training.batches import Batches, BatchesAhead, PaddedRows

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


LENGTHS = torch.randint(1, 9, (50,), generator=torch.Generator().manual_seed(0))
PADDED = PaddedRows(torch.where(torch.arange(8) < LENGTHS[:, None], torch.arange(50)[:, None], -1), LENGTHS)


def similar(parts: int = 1, seed: int = 0) -> Batches:
    return Batches(PADDED, 8, seed, parts)


def numbers(batches: Batches, steps: int) -> list[int]:
    return [int(row[0]) for step in range(steps) for part in batches.at(step) for row in part]


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_an_epoch_of_batches_of_similar_size_has_every_row_once(parts: int) -> None:
    rows = numbers(similar(parts), 50)  # eight epochs, whose ends are within batches
    epochs = [rows[start : start + 50] for start in range(0, 400, 50)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 8


def test_parts_of_similar_size_end_with_their_longest_row_and_hold_few_pads() -> None:
    for parts, least in ((1, 0.85), (4, 0.9)):
        tokens = [part for step in range(25) for part in similar(parts).at(step)]
        assert all(bool((part[:, -1] >= 0).any()) for part in tokens)
        filled = sum(int((part >= 0).sum()) for part in tokens) / sum(part.numel() for part in tokens)
        assert filled > least > 1.3 * float(LENGTHS.float().mean()) / 8


def test_a_batch_of_similar_size_does_not_depend_on_those_before() -> None:
    one, other = similar(2), similar(2)
    for step in (31, 0, 7):
        for part, same in zip(one.at(step), other.at(step), strict=True):
            assert torch.equal(part, same)
        assert torch.equal(one.at(step)[0], similar(2).at(step)[0])


def test_every_row_is_as_often_in_an_early_batch_of_similar_size_as_in_a_late_one() -> None:
    """Chi-square over 48 full places of six steps; 200 epochs of other seeds."""
    seen = torch.zeros(50, 6)
    for seed in range(200):
        for step, rows in enumerate(torch.tensor(numbers(similar(seed=seed), 6)).chunk(6)):
            seen[rows, step] += 1
    expected = seen.sum(1, keepdim=True) / 6
    chi = float(((seen - expected) ** 2 / expected).sum())
    assert chi < 250 + 5 * (2 * 250) ** 0.5  # 50 x 5 degrees of freedom; rows of one batch go together


def test_batches_that_are_prepared_ahead_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda part: part)  # which needs a GPU
    with BatchesAhead(similar(2)) as ahead:
        for step in (4, 5, 6, 2, 3):
            for part, same in zip(ahead.at(step), similar(2).at(step), strict=True):
                assert torch.equal(part, same)


def test_an_error_in_a_batch_that_is_prepared_ahead_is_raised_in_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda part: part)
    broken = Batches(PADDED, 8, seed=0)
    plain = broken.at
    monkeypatch.setattr(broken, "at", lambda step: plain(step) if step < 2 else plain(1 // 0))
    with BatchesAhead(broken) as ahead:
        ahead.at(0), ahead.at(1)
        with pytest.raises(ZeroDivisionError):
            ahead.at(2)
