"""Samples of sequences with several kinds of positions: layouts, token after token, references."""

import torch
from torch import Tensor

from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.objective import NextTokenObjective
from pipeline.sampling.autoregressive import sample_in_order
from pipeline.sampling.layouts import draw_layouts
from pipeline.sampling.references import independent_columns
from pipeline.tokens.token_data import TokenData

# Letters 0 to 2, digits 3 and 4, a mask, and a pad.
VOCABULARY = Vocabulary([0, 0, 0, 1, 1, -1, 2])
ROWS = torch.tensor([[0, 3, 6], [1, 4, 2], [2, 3, 6], [2, 4, 0]])
DATA = TokenData(ROWS, ROWS, ROWS, VOCABULARY, {"name": "none"})


class Fixed:
    """A network that always gives the same logits, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[int] | None] = []

    def start(self, kinds: Tensor) -> int:
        return len(kinds)

    def next_logits(self, tokens: Tensor | None, state: object) -> Tensor:
        self.asked.append(None if tokens is None else tokens.tolist())
        return torch.log(torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 9.0, 9.0])).expand(int(str(state)), -1)


def test_layouts_occur_as_often_as_in_the_training_data() -> None:
    layouts = draw_layouts(DATA, 4000, torch.Generator().manual_seed(0))
    padded = (layouts[:, 2] == 2).double().mean()
    assert 0.46 < padded < 0.54
    assert set(map(tuple, layouts.tolist())) == {(0, 1, 2), (0, 1, 0)}


def test_tokens_of_a_sequence_that_are_no_pads_are_counted() -> None:
    assert DATA.tokens_per_sequence() == 2.5


def test_the_null_keeps_layouts_and_mixes_columns_of_one_kind() -> None:
    drawn = independent_columns(DATA, 3000, torch.Generator().manual_seed(0))
    kinds = VOCABULARY.kinds_of(drawn)
    assert set(map(tuple, kinds.tolist())) == {(0, 1, 2), (0, 1, 0)}
    assert set(drawn[kinds[:, 2] == 0, 2].tolist()) == {0, 2}  # letters of the third column
    pairs = set(map(tuple, drawn[:, :2].tolist()))
    assert (0, 4) in pairs  # a pair that no row has


def test_tokens_are_drawn_in_order_and_only_of_their_kind() -> None:
    network, kinds = Fixed(), torch.tensor([[0, 1, 2], [0, 1, 0]]).repeat(2000, 1)
    drawn = sample_in_order(network, VOCABULARY, kinds, generator=torch.Generator().manual_seed(0))
    assert torch.equal(VOCABULARY.kinds_of(drawn), kinds)
    assert network.asked == [None, drawn[:, 0].tolist(), drawn[:, 1].tolist()]
    shares = drawn[:, 0].bincount(minlength=3) / len(drawn)
    assert torch.allclose(shares, torch.tensor([0.25, 0.5, 0.25]), atol=0.03)


def test_a_temperature_sharpens_what_is_drawn_in_order() -> None:
    kinds = torch.zeros(4000, 1, dtype=torch.int64)
    drawn = sample_in_order(Fixed(), VOCABULARY, kinds, generator=torch.Generator().manual_seed(0), temperature=0.5)
    shares = drawn[:, 0].bincount(minlength=3) / len(drawn)
    assert torch.allclose(shares, torch.tensor([1 / 6, 4 / 6, 1 / 6]), atol=0.03)


def test_frames_of_what_is_drawn_in_order_are_masked_where_tokens_are_to_come() -> None:
    seen: list[tuple[float, list[int]]] = []
    kinds = torch.tensor([[0, 1]])
    drawn = sample_in_order(
        Fixed(),
        VOCABULARY,
        kinds,
        generator=torch.Generator().manual_seed(0),
        on_step=lambda x, t: seen.append((t, x[0].tolist())),
    )
    first, second = drawn[0].tolist()
    assert seen == [(0.0, [5, 5]), (0.5, [first, 5]), (1.0, [first, second])]


def test_the_loss_of_the_next_token_is_among_tokens_of_its_kind_and_zero_at_pads() -> None:
    class Network(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return Fixed().next_logits(None, 1).expand(*x.shape, -1)

    losses = NextTokenObjective(VOCABULARY, tokens=1.5)(Network(), ROWS[:1], torch.Generator())
    expected = -2 * torch.log(torch.tensor([[1 / 4, 3 / 4, 1.0]]))
    torch.testing.assert_close(losses, expected)
