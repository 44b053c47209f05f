"""Fingerprints of compositions and structures."""

import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matminer.featurizers.composition import ElementProperty
from matminer.featurizers.site.fingerprint import CrystalNNFingerprint
from pymatgen.core import Composition, Element
from small_crystals import caesium_chloride, crystal, overlapping, rock_salt

from pipeline.crystals import fingerprints as module
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.fingerprints import SCALER, composition_fingerprint, site_fingerprints, structure_fingerprint
from pipeline.crystals.magpie import magpie
from pipeline.crystals.neighbours import Unusual
from pipeline.crystals.order_parameters import KINDS, MOTIFS

PEROVSKITE = {(0, 0, 0): 38, (0.5, 0.5, 0.5): 22, (0.5, 0.5, 0): 8, (0.5, 0, 0.5): 8, (0, 0.5, 0.5): 8}


@pytest.fixture(scope="module")
def of_composition() -> Any:
    return ElementProperty.from_preset("magpie", impute_nan=False)


@pytest.fixture(scope="module")
def of_site() -> Any:
    return CrystalNNFingerprint.from_preset("ops")


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):  # the libraries warn about nearly every structure
        yield


def fingerprint_by(featuriser: Any, given: Crystal) -> Any:
    """Return what matminer says about a crystal, or its error."""
    structure = given.structure()
    try:
        return np.mean([featuriser.featurize(structure, site) for site in range(len(structure))], axis=0)
    except (ValueError, TypeError) as error:
        return repr(error)


def test_the_scaler_has_the_order_of_the_features(of_composition: Any) -> None:
    labels = [label.split()[1:] for label in of_composition.feature_labels()]
    constants = json.loads(SCALER.read_text())
    means = {tuple(label): mean for label, mean in zip(labels, constants["means"], strict=True)}
    assert len(labels) == len(constants["deviations"]) == 132
    assert "CDVAE" in constants["source"]
    for name in {label[1] for label in labels}:  # a property of every mean, which no other order has
        assert means["minimum", name] + means["range", name] == pytest.approx(means["maximum", name], rel=1e-6)
        assert means["minimum", name] <= means["mean", name] <= means["maximum", name]
    assert means["mean", "AtomicWeight"] > 2 * means["mean", "Number"]


def test_a_composition_fingerprint_is_scaled_and_knows_no_multiples() -> None:
    once, twice = composition_fingerprint({11: 1, 17: 1}), composition_fingerprint({11: 4, 17: 4})
    constants = json.loads(SCALER.read_text())
    assert once.shape == (132,)
    assert once == pytest.approx(twice)
    assert once[0] == pytest.approx((11 - constants["means"][0]) / constants["deviations"][0])
    assert once[1] == pytest.approx((17 - constants["means"][1]) / constants["deviations"][1])


def test_statistics_of_elements_are_those_of_matminer(of_composition: Any) -> None:
    draw = np.random.default_rng(0)
    for _ in range(300):
        elements = draw.choice(np.arange(1, 119), draw.integers(1, 8), replace=False)
        composition = {int(z): int(draw.integers(1, 9)) for z in elements}
        formula = Composition({Element.from_Z(z): count for z, count in composition.items()})
        np.testing.assert_allclose(magpie(composition), of_composition.featurize(formula), rtol=1e-12, atol=1e-9)


def test_entries_on_which_there_is_no_data_are_missing_for_six_elements_alone() -> None:
    lacking = [z for z in range(1, 95) if np.isnan(composition_fingerprint({z: 1, 8: 1})).any()]
    assert lacking == [2, 10, 18, 85, 86, 87]  # He, Ne, Ar, At, Rn, Fr
    assert np.isfinite(composition_fingerprint({2: 1, 8: 1})).sum() == 120


def test_motifs_are_those_of_matminer_with_the_parameters_of_pymatgen(of_site: Any) -> None:
    ours = {int(count): motifs for count, motifs in json.loads(MOTIFS.read_text())["motifs"].items()}
    for count, names in of_site.op_types.items():
        theirs = dict(zip(names[1:], of_site.ops[count][1:], strict=True))  # the first is the weight
        assert [name for name, _, _ in ours.get(count, [])] == list(theirs)
        for name, kind, parameters in ours.get(count, []):
            assert kind == theirs[name].get_type(0)
            expected = {str(key): value for key, value in (theirs[name].get_parameters(0) or {}).items()}
            assert parameters == (expected or ({"l": int(kind[1])} if kind.startswith("q") else {}))
    assert {kind for motifs in ours.values() for _, kind, _ in motifs} == set(KINDS)


def test_a_structure_fingerprint_is_the_mean_of_its_sites(of_site: Any) -> None:
    labels = of_site.feature_labels()
    values = dict(zip(labels, structure_fingerprint(rock_salt()), strict=True))
    assert len(values) == 61
    assert values["wt CN_6"] == pytest.approx(1, abs=0.01)
    assert values["octahedral CN_6"] == pytest.approx(1, abs=0.01)
    chloride = dict(zip(labels, structure_fingerprint(caesium_chloride()), strict=True))
    assert chloride["wt CN_8"] > 0.9
    two_kinds = crystal("perovskite", 3.9, {(0, 0, 0): 22, (0.5, 0, 0): 8, (0, 0.5, 0): 8, (0, 0, 0.5): 8})
    mixed = dict(zip(labels, structure_fingerprint(two_kinds), strict=True))
    assert mixed["wt CN_6"] == pytest.approx(0.25, abs=0.01)  # one of four sites


def test_structures_of_every_kind_have_the_fingerprint_of_matminer(
    of_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, seen = np.random.default_rng(0), np.zeros(61, dtype=bool)
    monkeypatch.setattr(module, "_matminer", lambda: pytest.fail("matminer itself must not be needed"))
    for given in [*perfect(), *(shaken(draw) for _ in range(8)), *(random(draw) for _ in range(12))]:
        expected = fingerprint_by(of_site, given)
        np.testing.assert_allclose(structure_fingerprint(given), expected, rtol=0, atol=1e-9, err_msg=given.id)
        seen |= expected != 0
    labels = np.array(of_site.feature_labels())
    assert not {label for label in labels[~seen] if not label.startswith("wt")}  # every motif has been compared


def perfect() -> Iterator[Crystal]:
    """Yield crystals in which many faces have no size and many angles are at the edge of a case."""
    third = 1 / 3
    yield caesium_chloride()
    yield rock_salt()
    yield crystal("perovskite", 3.9, PEROVSKITE)
    yield crystal("copper", 3.61, {(0, 0, 0): 29, (0.5, 0.5, 0): 29, (0.5, 0, 0.5): 29, (0, 0.5, 0.5): 29})
    yield crystal("iron", 2.87, {(0, 0, 0): 26, (0.5, 0.5, 0.5): 26})
    yield crystal("diamond", 2.52, {(0, 0, 0): 6, (0.25, 0.25, 0.25): 6}, angles=[60.0] * 3)
    hexagonal = {"lengths": [2.46, 2.46, 6.7], "angles": [90.0, 90.0, 120.0]}
    sheets = {(0, 0, 0.25): 6, (0, 0, 0.75): 6, (third, 2 * third, 0.25): 6, (2 * third, third, 0.75): 6}
    yield crystal("graphite", 0, sheets, **hexagonal)
    yield crystal("one atom", 3.0, {(0.2, 0.3, 0.4): 84})
    yield crystal("a chain", 0, {(0, 0, 0): 6, (0, 0, 0.5): 8}, lengths=[12.0, 12.0, 2.6])
    yield crystal("a square", 0, {(0, 0, 0): 28, (0.5, 0, 0): 8, (0, 0.5, 0): 8}, lengths=[3.8, 3.8, 9.0])
    yield crystal("a noble gas", 5.3, {(0, 0, 0): 18, (0.5, 0.5, 0): 9, (0.5, 0, 0.5): 18})
    yield crystal("open", 11.0, PEROVSKITE)  # more atoms than those within 7 A are needed
    yield overlapping()


def shaken(draw: np.random.Generator) -> Crystal:
    """Return a perovskite or rock salt with moved atoms and other elements."""
    given = crystal("shaken", 3.9, PEROVSKITE) if draw.random() < 0.5 else rock_salt("shaken")
    moved = given.fractions + draw.normal(0, 0.05, given.fractions.shape)
    return Crystal(given.id, given.lengths * draw.uniform(0.9, 1.2, 3), given.angles, given.numbers, moved)


def random(draw: np.random.Generator) -> Crystal:
    """Return atoms at random places of a grid, as tokens have them."""
    count = int(draw.integers(1, 7))
    return Crystal(
        "random",
        draw.integers(25, 70, 3) / 10,
        draw.integers(65, 116, 3).astype(np.float64),
        draw.choice([3, 8, 11, 14, 17, 26, 29, 56, 82], count),
        draw.integers(0, 12, (count, 3)) / 12,
    )


@pytest.mark.parametrize(
    "given",
    [
        crystal("no radius", 4.12, {(0, 0, 0): 103, (0.5, 0.5, 0.5): 17}),
        crystal("one place", 4.12, {(0, 0, 0): 11, (1, 0, 0): 17}),
    ],
    ids=lambda given: given.id,
)
def test_what_the_fast_way_cannot_do_is_left_to_matminer(of_site: Any, given: Crystal) -> None:
    with pytest.raises(Unusual):
        site_fingerprints(given.structure())
    with pytest.raises((ValueError, TypeError)) as error:
        structure_fingerprint(given)
    assert repr(error.value) == fingerprint_by(of_site, given)
