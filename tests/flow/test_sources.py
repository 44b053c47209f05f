"""Source distributions: the family of token statistics, kinds, and tokens that never occur."""

import torch

from pipeline.flow import sources
from pipeline.flow.paths import build_path
from pipeline.flow.vocabulary import Vocabulary

KINDS = Vocabulary([0, 0, 0, 1, 1, 2, -1])
COUNTS = torch.tensor([900.0, 90.0, 9.0, 40.0, 0.0, 7.0, 0.0])


def test_beta_minus_one_gives_the_statistics_back_and_zero_the_uniform_distribution() -> None:
    one_kind = Vocabulary.single(3)
    counts = torch.tensor([700.0, 200.0, 97.0])
    statistics = sources.token_statistics(one_kind, counts, -1.0)
    assert torch.allclose(statistics, ((counts + 1) / 1000)[None].double(), rtol=1e-6)
    assert torch.allclose(sources.token_statistics(one_kind, counts, 0.0), sources.uniform(one_kind))


def test_large_beta_gives_the_rarest_tokens_and_no_nan() -> None:
    source = sources.token_statistics(KINDS, COUNTS, 1024.0)
    assert torch.allclose(source[0], torch.tensor([0.0, 0, 1, 0, 0, 0, 0]).double())
    assert torch.allclose(source[1], torch.tensor([0.0, 0, 0, 0, 1, 0, 0]).double())  # it never occurs


def test_rows_have_mass_on_their_own_kind_only() -> None:
    for source in (sources.uniform(KINDS), sources.token_statistics(KINDS, COUNTS, 0.5)):
        assert torch.allclose(source.sum(-1), torch.ones(3).double())
        assert bool((source[~KINDS.targets(torch.arange(3))] == 0).all())


def test_mask_source_masks_every_kind_but_a_pad() -> None:
    source = sources.mask(KINDS)
    assert source[:2, KINDS.mask].tolist() == [1.0, 1.0]
    assert source[2].tolist() == [0.0, 0, 0, 0, 0, 1, 0]


def test_a_source_with_all_its_mass_on_one_data_token_still_needs_the_time() -> None:
    counts = torch.tensor([9.0, 9.0, 9.0, 0.0, 9.0])
    path = build_path("statistics", Vocabulary.single(4, specials=1), beta_0=1024.0, counts=counts)
    assert path.needs_time  # that token is seen both before and after it has arrived
