"""Text around what is given: what is clamped stays, wherever it is."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.config import Sampling
from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp
from pipeline.flow.paths import example_path
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import SavedModel
from pipeline.sampling.blocks import draw_around
from pipeline.text.generation import template
from pipeline.text.networks import text_autoregressive
from pipeline.tokens.token_data import TokenData

LENGTH = 12
VOCABULARY = Vocabulary.single(20, specials=1)
TOKENS = torch.arange(LENGTH).expand(4, -1)
DATA = TokenData(TOKENS, TOKENS, TOKENS, VOCABULARY, {"name": "test"})


class Letters:
    """A tokenizer of one token a letter."""

    def encode(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array([ord(letter) - ord("a") for letter in text], np.uint16) for text in texts]


class Flat(torch.nn.Module):
    """A network that knows nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return torch.zeros(*x.shape, VOCABULARY.size)


def given(**parts: str) -> tuple[Tensor, Tensor]:
    return template(Letters(), LENGTH, VOCABULARY.mask, parts)  # type: ignore[arg-type]


def saved(network: torch.nn.Module, path: str | None) -> SavedModel:
    description = type("Described", (), {"run": "test", "loss": None})()
    return SavedModel(network, example_path(path, VOCABULARY) if path else None, description)


@pytest.mark.parametrize("path", ["mask", "uniform", "statistics", "metric"])
@pytest.mark.parametrize(
    "parts",
    [{"prefix": "abc"}, {"suffix": "tbc"}, {"middle": "cab"}, {"prefix": "ab", "middle": "c", "suffix": "d"}],
    ids=lambda parts: "-".join(parts),
)
def test_every_clamped_token_is_kept(path: str, parts: dict[str, str]) -> None:
    tokens, fixed = given(**parts)
    model = saved(Flat(), path)
    assert model.path is not None
    clamp = Clamp(tokens.expand(5, -1), fixed.expand(5, -1), model.path.needs_time)
    kinds = torch.zeros(5, LENGTH, dtype=torch.int64)
    drawn = draw_around(model, DATA, Sampling(steps=6, block=2), kinds, clamp, seed=1)
    assert bool((drawn[:, fixed] == tokens[fixed]).all())
    assert bool((drawn < 20).all())
    assert len(drawn[:, ~fixed].unique()) > 5  # and the rest is drawn


def test_parts_lie_at_the_beginning_in_the_middle_and_at_the_end() -> None:
    tokens, fixed = given(prefix="ab", middle="cd", suffix="e")
    assert fixed.nonzero().squeeze(-1).tolist() == [0, 1, 5, 6, 11]
    assert tokens[fixed].tolist() == [0, 1, 2, 3, 4]
    assert bool((tokens[~fixed] == VOCABULARY.mask).all())


def test_nothing_given_fixes_nothing() -> None:
    assert not bool(given()[1].any())


def test_what_is_longer_than_a_text_is_refused_with_its_length() -> None:
    with pytest.raises(KinoflowError, match=r"longer than a text of 12 tokens: --prefix has 8, --suffix has 5"):
        given(prefix="abcdefgh", suffix="abcde")


def test_an_autoregressive_network_goes_on_after_a_prefix_and_refuses_a_suffix() -> None:
    options = text_autoregressive.Options(width=8, depth=1, heads=2)
    model = saved(text_autoregressive.build(options, VOCABULARY, LENGTH).eval(), None)
    kinds = torch.zeros(3, LENGTH, dtype=torch.int64)
    tokens, fixed = given(prefix="abc")
    clamp = Clamp(tokens.expand(3, -1), fixed.expand(3, -1))
    drawn = draw_around(model, DATA, Sampling(block=2), kinds, clamp, seed=1)
    assert bool((drawn[:, :3] == tokens[:3]).all())
    tokens, fixed = given(suffix="abc")
    with pytest.raises(KinoflowError, match="can only continue given tokens"):
        draw_around(model, DATA, Sampling(), kinds, Clamp(tokens.expand(3, -1), fixed.expand(3, -1)), seed=1)
