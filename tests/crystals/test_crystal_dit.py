"""The transformer over crystals whose atoms have no order."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from random_crystals import ROUNDING, VOCABULARY, parameters_of, random_crystals, stirred, without_gradient
from torch import Tensor
from torch.nn import functional

from pipeline.crystals.networks.crystal_dit import CONDITION_RATIO, Options, build
from pipeline.crystals.tokens import CELL, MASK, PAD, PER_ATOM, length_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary

SMALL = Options(width=32, depth=2, heads=4, dropout=0.0)
ATOMS = (5, 1, 3, 4)
TIMES = torch.tensor([0.0, 0.3, 0.6, 0.9])


@pytest.fixture(params=[False, True], ids=["plain", "contacts"])
def options(request: pytest.FixtureRequest) -> Options:
    return SMALL.model_copy(update={"contacts": request.param})


@pytest.fixture
def network(options: Options) -> Any:
    return stirred(build(options, VOCABULARY, length_of(5)))


@pytest.fixture
def x() -> Tensor:
    crystals = random_crystals(ATOMS, 5)
    crystals[:, ::3] = torch.where(crystals[:, ::3] == PAD, PAD, MASK)  # some of the tokens still hidden
    return crystals


def permuted(values: Tensor, order: list[int]) -> Tensor:
    """Return values [B, D, ...] with the atoms in another order."""
    atoms = values[:, CELL:].unflatten(1, (-1, PER_ATOM))[:, order]
    return torch.cat([values[:, :CELL], atoms.flatten(1, 2)], dim=1)


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_permuted_atoms_give_permuted_logits(network: Any, x: Tensor, dtype: torch.dtype) -> None:
    network, order = network.to(dtype), [3, 0, 4, 1, 2]
    of_permuted, logits = network(permuted(x, order), TIMES), network(x, TIMES)
    torch.testing.assert_close(of_permuted, permuted(logits, order), rtol=0, atol=ROUNDING[dtype])
    assert not torch.allclose(of_permuted, logits, atol=1e-2)


def test_atoms_and_tokens_of_one_atom_are_told_apart(network: Any) -> None:
    x = random_crystals([5], 5)
    logits = network(x, TIMES[:1])[0, CELL:]
    distances = torch.cdist(logits, logits) + torch.eye(len(logits)) * 100
    assert distances.min() > 0.1


def test_tokens_of_the_cell_have_an_order(network: Any) -> None:
    x = random_crystals([5], 5)
    x[:, :3] = MASK
    lengths = network(x, TIMES[:1])[0, :3]
    assert torch.cdist(lengths, lengths)[[0, 0, 1], [1, 2, 2]].min() > 0.1


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("max_atoms", [3, 4, 9, 20])
def test_logits_do_not_depend_on_the_number_of_pads(
    network: Any, options: Options, max_atoms: int, dtype: torch.dtype
) -> None:
    used = length_of(3)
    x, other = random_crystals([3], 5), torch.full((1, length_of(max_atoms)), PAD)
    other[:, :used] = x[:, :used]
    differently_long = build(options, VOCABULARY, length_of(max_atoms)).eval()
    differently_long.load_state_dict(network.state_dict())
    logits = differently_long.to(dtype)(other, TIMES[:1])[:, :used]
    expected = network.to(dtype)(x, TIMES[:1])[:, :used]
    torch.testing.assert_close(logits, expected, rtol=0, atol=ROUNDING[dtype])


def test_logits_do_not_depend_on_the_features_of_pads(network: Any, x: Tensor) -> None:
    before = network(x, TIMES)
    with torch.no_grad():
        network.embedding.weight[PAD] += 1
    data = x != PAD
    torch.testing.assert_close(network(x, TIMES)[data], before[data], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_logits_do_not_depend_on_other_crystals_of_the_batch(network: Any, x: Tensor, dtype: torch.dtype) -> None:
    network = network.to(dtype)
    alone = torch.cat([network(row[None], t[None]) for row, t in zip(x, TIMES, strict=True)])
    torch.testing.assert_close(alone, network(x, TIMES), rtol=0, atol=ROUNDING[dtype])


@pytest.mark.parametrize("position", [0, 4, CELL, CELL + 3, CELL + PER_ATOM + 2])
def test_every_token_matters_for_every_other(network: Any, position: int) -> None:
    x = random_crystals([2], 5)
    changed = x.clone()
    changed[0, position] = MASK
    difference = (network(changed, TIMES[:1]) - network(x, TIMES[:1]))[0, : length_of(2)].abs().amax(-1)
    assert difference.min() > 1e-3


def test_time_matters(network: Any, x: Tensor) -> None:
    assert (network(x, TIMES) - network(x, TIMES.flip(0))).abs().amax(-1).min() > 1e-3


def test_a_network_that_is_not_told_the_time_goes_by_the_tokens_alone(x: Tensor) -> None:
    network = stirred(build(SMALL.model_copy(update={"time": False}), VOCABULARY, length_of(5)))
    assert torch.equal(network(x, TIMES), network(x, TIMES.flip(0)))


def test_the_number_of_atoms_reaches_the_crystals_that_have_it_and_no_others(x: Tensor) -> None:
    network: Any = stirred(build(SMALL.model_copy(update={"atoms": True}), VOCABULARY, length_of(5)))
    at = torch.arange(x.numel())
    before, before_at = network(x, TIMES), network(x, TIMES, at=at).view(*x.shape, -1)
    with torch.no_grad():
        network.atoms.weight[ATOMS[2] - 1] += 1
    for logits, known in ((network(x, TIMES), before), (network(x, TIMES, at=at).view(*x.shape, -1), before_at)):
        data = x != PAD
        changed = ((logits - known).abs().amax(-1) * data).amax(-1)
        assert changed.gt(1e-3).tolist() == [False, False, True, False]


def test_before_training_all_tokens_are_equally_likely(x: Tensor, options: Options) -> None:
    assert not build(options, VOCABULARY, x.shape[1])(x, TIMES).any()


def test_the_gradient_reaches_every_parameter(network: Any, x: Tensor) -> None:
    second = slice(CELL + PER_ATOM, CELL + 2 * PER_ATOM)
    x[:, second] = random_crystals(ATOMS, 5)[:, second]  # an atom whose place is known
    loss = functional.cross_entropy(network(x, TIMES).flatten(0, 1), x.flatten())
    assert without_gradient(network, loss) == []


def test_features_are_dropped_in_training_only(x: Tensor) -> None:
    network = stirred(build(Options(width=32, depth=2, heads=4, dropout=0.5), VOCABULARY, x.shape[1]))
    assert torch.equal(network(x, TIMES), network(x, TIMES))
    network.train()
    assert not torch.allclose(network(x, TIMES), network(x, TIMES), atol=1e-2)


def test_the_papers_size_has_about_25_million_parameters() -> None:
    options = Options()
    assert (options.width, options.depth, options.heads, options.dropout) == (256, 16, 16, 0.1)
    assert CONDITION_RATIO * options.width == 448
    assert parameters_of(build(options, VOCABULARY, length_of(20))) == 25_178_350


def test_the_weights_do_not_depend_on_the_most_atoms() -> None:
    counts = {parameters_of(build(SMALL, VOCABULARY, length_of(atoms))) for atoms in (1, 5, 20)}
    assert len(counts) == 1


@pytest.mark.parametrize("length", [0, 6, 9, 85])
def test_a_length_that_no_crystal_has_is_refused(length: int) -> None:
    with pytest.raises(KinoflowError, match=rf"length: .*6 \+ 4 a tokens.*got {length}; choose"):
        build(SMALL, VOCABULARY, length)


@pytest.mark.parametrize("kinds", [[0, 0, 0, -1], [0, 0, 1, 2, -1]])
def test_a_vocabulary_without_exactly_one_pad_is_refused(kinds: list[int]) -> None:
    with pytest.raises(KinoflowError, match=r"vocabulary: .*the pad, got"):
        build(SMALL, Vocabulary(kinds), length_of(5))


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"width \(30\) must be a multiple of heads \(4\)"):
        Options(width=30, heads=4)


@pytest.mark.parametrize("shown", [0, 0.3, 1])
@pytest.mark.parametrize("count", [4, 60], ids=["few", "many"])
def test_logits_at_some_places_are_those_of_all(network: Any, shown: float, count: int) -> None:
    x, generator = random_crystals(ATOMS, 5), torch.Generator().manual_seed(0)
    hidden = torch.rand(x.shape, generator=generator) >= shown  # at first, all atoms of a crystal are equal
    x = torch.where(hidden & (x != PAD), MASK, x)
    places = (x.flatten() != PAD).nonzero().squeeze(-1)
    at = places[torch.randperm(len(places), generator=generator)[:count]]
    with torch.no_grad():
        expected = network(x, TIMES).flatten(0, 1)[at]
        torch.testing.assert_close(network(x, TIMES, at=at), expected, rtol=0, atol=1e-5)


def test_equal_atoms_and_pads_take_part_once_or_not_at_all(network: Any) -> None:
    x = random_crystals(ATOMS, 5)
    x = torch.where(x == PAD, PAD, MASK)
    features, sight, _ = network._packed(x)
    assert features.shape[1] == len(ATOMS) * (CELL + 1)
    assert sight.packing.weights.exp().sum() == sum(ATOMS) + CELL * len(ATOMS)
    assert network(x, TIMES, at=torch.tensor([x.numel() - 1])).isfinite().all()  # a pad


def test_pads_at_the_end_can_be_left_out(network: Any, x: Tensor) -> None:
    some, width = x[1:], length_of(4)
    torch.testing.assert_close(network(some[:, :width], TIMES[1:]), network(some, TIMES[1:])[:, :width])
