"""The checkerboard and its file."""

from pathlib import Path

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.known.datasets.checkerboard import Options, prepare, probabilities
from pipeline.tokens.token_data import TokenData

OPTIONS = Options(levels=8, squares=4, train=20000, validation=50, test=60)


def test_the_distribution_is_uniform_over_the_black_half_of_the_board() -> None:
    q = probabilities(OPTIONS)
    assert q.sum() == pytest.approx(1)
    assert set(q.unique().tolist()) == {0.0, 1 / 32}
    assert bool((q[:2, :2] > 0).all())
    assert bool((q[:2, 2:4] == 0).all())
    assert torch.allclose(q.sum(0), torch.full((8,), 1 / 8, dtype=torch.float64))


def test_samples_follow_the_distribution(tmp_path: Path) -> None:
    data = prepare(OPTIONS, seed=0, cache=tmp_path)
    histogram = (data.train[:, 0] * 8 + data.train[:, 1]).bincount(minlength=64).view(8, 8) / len(data.train)
    assert (histogram - probabilities(OPTIONS)).abs().max() < 0.005
    assert (len(data.validation), len(data.test)) == (50, 60)


def test_splits_and_seeds_give_different_points(tmp_path: Path) -> None:
    one, other = (prepare(OPTIONS, seed=seed, cache=tmp_path) for seed in (0, 1))
    assert not torch.equal(one.train, other.train)
    assert not torch.equal(one.validation, one.test[:50])
    assert torch.equal(one.train, prepare(OPTIONS, seed=0, cache=tmp_path).train)


def test_tokens_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    data = prepare(OPTIONS, seed=0, cache=tmp_path)
    data.save(tmp_path / "tokens")
    read = TokenData.load(tmp_path / "tokens")
    assert torch.equal(read.train.long(), data.train)
    assert (read.vocabulary.size, read.vocabulary.mask, read.length) == (9, 8, 2)
    assert read.origin == {"name": "checkerboard"} | OPTIONS.model_dump()
    assert read.counts().sum() == 2 * len(data.train)


@pytest.mark.parametrize("split", [torch.zeros(0, 2), torch.zeros(3, 1), torch.full((3, 2), 4)])
def test_a_split_that_is_empty_uneven_or_not_data_is_refused(split: torch.Tensor) -> None:
    whole = torch.zeros(3, 2, dtype=torch.int64)
    with pytest.raises(KinoflowError):
        TokenData(whole, whole, split.long(), Vocabulary.single(4, specials=1), {})
