"""Fingerprints of compositions and structures."""

import json

import pytest
from small_crystals import caesium_chloride, crystal, rock_salt

from pipeline.crystals.describe import SCALER, Fingerprinter


@pytest.fixture(scope="module")
def fingerprinter() -> Fingerprinter:
    return Fingerprinter.load()


def test_the_scaler_has_the_order_of_the_features(fingerprinter: Fingerprinter) -> None:
    labels = [label.split()[1:] for label in fingerprinter.composition.feature_labels()]
    constants = json.loads(SCALER.read_text())
    means = {tuple(label): mean for label, mean in zip(labels, constants["means"], strict=True)}
    assert len(labels) == len(constants["deviations"]) == 132
    assert "CDVAE" in constants["source"]
    for name in {label[1] for label in labels}:  # a property of every mean, which no other order has
        assert means["minimum", name] + means["range", name] == pytest.approx(means["maximum", name], rel=1e-6)
        assert means["minimum", name] <= means["mean", name] <= means["maximum", name]
    assert means["mean", "AtomicWeight"] > 2 * means["mean", "Number"]


def test_a_composition_fingerprint_is_scaled_and_knows_no_multiples(fingerprinter: Fingerprinter) -> None:
    once, twice = fingerprinter.of_composition({11: 1, 17: 1}), fingerprinter.of_composition({11: 4, 17: 4})
    assert once.shape == (132,)
    assert once == pytest.approx(twice)
    assert once[0] == pytest.approx((11 - fingerprinter.means[0]) / fingerprinter.deviations[0])
    assert once[1] == pytest.approx((17 - fingerprinter.means[1]) / fingerprinter.deviations[1])


def test_a_structure_fingerprint_is_the_mean_of_its_sites(fingerprinter: Fingerprinter) -> None:
    labels = fingerprinter.structure.feature_labels()
    values = dict(zip(labels, fingerprinter.of_structure(rock_salt()), strict=True))
    assert len(values) == 61
    assert values["wt CN_6"] == pytest.approx(1, abs=0.01)
    assert values["octahedral CN_6"] == pytest.approx(1, abs=0.01)
    chloride = dict(zip(labels, fingerprinter.of_structure(caesium_chloride()), strict=True))
    assert chloride["wt CN_8"] > 0.9
    two_kinds = crystal("perovskite", 3.9, {(0, 0, 0): 22, (0.5, 0, 0): 8, (0, 0.5, 0): 8, (0, 0, 0.5): 8})
    mixed = dict(zip(labels, fingerprinter.of_structure(two_kinds), strict=True))
    assert mixed["wt CN_6"] == pytest.approx(0.25, abs=0.01)  # one of four sites


@pytest.mark.parametrize("z", [2, 10, 18])
def test_an_element_without_data_is_an_error_that_names_the_formula(fingerprinter: Fingerprinter, z: int) -> None:
    with pytest.raises(ValueError, match="Magpie"):
        fingerprinter.of_composition({z: 1, 8: 1})
