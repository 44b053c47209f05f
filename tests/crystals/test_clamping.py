"""Templates fix what was given and nothing else, and samplers take them."""

import pytest
import torch
from known_crystals import rock_salt

from pipeline.crystals import tokens
from pipeline.crystals.templates import Template, batch, from_formula, from_structure
from pipeline.crystals.tokens import atoms_of, encode, layout, vocabulary
from pipeline.errors import KinoflowError
from pipeline.flow.paths import build_path
from pipeline.flow.sampler import sample


def elements_of(template: Template) -> list[int]:
    given = template.tokens[template.kinds == tokens.ELEMENT]
    return sorted((given - tokens.FIRST_ELEMENT + 1).tolist())


def test_a_formula_without_a_size_gives_all_multiples_that_fit() -> None:
    templates = from_formula("TiO2", max_atoms=10)
    assert [int((template.kinds == tokens.ELEMENT).sum()) for template in templates] == [3, 6, 9]
    assert elements_of(templates[1]) == [8] * 4 + [22] * 2
    for template in templates:
        assert torch.equal(template.fixed, (template.kinds == tokens.ELEMENT) | (template.kinds == tokens.PADDING))
        assert (template.tokens[~template.fixed] == tokens.MASK).all()


def test_a_formula_with_a_size_gives_one_template() -> None:
    [template] = from_formula("Ca(OH)2", formula_units=2)
    assert elements_of(template) == [1] * 4 + [8] * 4 + [20] * 2


@pytest.mark.parametrize(
    "formula, options, message",
    [
        ("Xx2O", {}, "'Xx2O'"),
        ("AmO2", {}, "Am is no element from Z = 1 to 94"),
        ("Na0.5Cl", {}, "whole numbers of atoms"),
        ("", {}, "cannot be read"),
        ("Na0", {}, "no atoms"),
        ("Na)", {}, "cannot be read"),
        ("C21", {}, "21 atoms, but at most 20 are possible"),
        ("NaCl", {"formula_units": 11}, "22 atoms, but at most 20"),
        ("NaCl", {"formula_units": 0}, "give 1 or more"),
    ],
)
def test_a_formula_that_cannot_be_is_explained(formula: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(KinoflowError, match=message):
        from_formula(formula, **options)


@pytest.mark.parametrize(
    "keep, kinds",
    [
        (["composition"], [tokens.ELEMENT]),
        (["lattice"], [tokens.LENGTH, tokens.ANGLE]),
        (["sites"], [tokens.FRACTION]),
        (["lattice", "sites"], [tokens.LENGTH, tokens.ANGLE, tokens.FRACTION]),
    ],
)
def test_a_structure_fixes_the_parts_that_are_kept(keep: list[str], kinds: list[int]) -> None:
    template, row = from_structure(rock_salt(), keep), torch.from_numpy(encode(rock_salt()))
    assert torch.equal(template.kinds, layout(8))
    expected = torch.isin(template.kinds, torch.tensor([*kinds, tokens.PADDING]))
    assert torch.equal(template.fixed, expected)
    assert torch.equal(template.tokens[expected], row[expected])
    assert (template.tokens[~expected] == tokens.MASK).all()


@pytest.mark.parametrize("keep, message", [([], "nothing is given"), (["cell"], "'cell' is none of them")])
def test_parts_that_do_not_exist_are_explained(keep: list[str], message: str) -> None:
    with pytest.raises(KinoflowError, match=message):
        from_structure(rock_salt(), keep)


def test_samples_are_spread_evenly_over_the_templates() -> None:
    kinds, clamp = batch(from_formula("TiO2", max_atoms=10), 8)
    assert atoms_of(clamp.tokens).tolist() == [3] * 3 + [6] * 3 + [9] * 2
    assert kinds.shape == clamp.tokens.shape == clamp.fixed.shape == (8, 46)


@pytest.mark.parametrize("name, noised", [("mask", False), ("metric", True)])
def test_a_sampler_fills_in_the_rest(name: str, noised: bool) -> None:
    known = {"distances": tokens.base_distances(), "check": False} if name == "metric" else {"scheduler": "linear"}
    path = build_path(name, vocabulary(), **known)
    kinds, clamp = batch(from_formula("TiO2", max_atoms=6), 4, noised=noised)

    def model(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*x.shape, vocabulary().size)

    drawn = sample(model, path, kinds=kinds, clamp=clamp, steps=2, generator=torch.Generator().manual_seed(0)).tokens
    assert torch.equal(drawn[clamp.fixed], clamp.tokens[clamp.fixed])
    assert torch.equal(vocabulary().kinds_of(drawn), kinds)
    assert not torch.equal(drawn[0], drawn[1])
