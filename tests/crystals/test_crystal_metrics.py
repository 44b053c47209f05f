"""Metrics of crystals, from tables of what is known of each structure."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pipeline.crystals.describe import COMPOSITION, STRUCTURAL
from pipeline.crystals.metrics import (
    CrystalEvidence,
    crystal_coverage,
    crystal_distributions,
    crystal_stability,
    crystal_symmetry,
    crystal_validity,
)
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.store.parquet import write_table
from pipeline.tokens.token_data import TokenData

METRICS = (crystal_coverage, crystal_distributions, crystal_stability, crystal_symmetry, crystal_validity)


def described(structure: list[Any], composition: list[Any] | None = None, **columns: Any) -> pd.DataFrame:
    """Return a description with fingerprints of one number each; None has none."""
    prints = {"structure_fingerprint": structure, "composition_fingerprint": composition or structure}
    lists = {name: [[] if value is None else [value] for value in values] for name, values in prints.items()}
    valid = [value is not None for value in structure]
    reasons = ["" if value is not None else "time limit" for value in structure]
    frame = {"reason": "", "fingerprint_reason": reasons} | dict.fromkeys((*STRUCTURAL, *COMPOSITION), valid)
    numbers = {"density": np.arange(len(structure), dtype=float), "elements": [2] * len(structure)}
    numbers |= {"space_group": [int(one) for one in valid], "numbers": [[11, 17] if one else [] for one in valid]}
    return pd.DataFrame({**lists, **frame, **numbers, **columns})


def assessed(count: int, **columns: Any) -> pd.DataFrame:
    """Return rows of failures, with some columns changed."""
    flags = ("structural_valid", "composition_valid", "composition_valid_default", "attempted", "converged", "stable")
    stability = ("metastable", "stable_converged", "stable_published", "unique", "novel", "sun", "msun")
    frame = pd.DataFrame({name: [False] * count for name in (*flags, *stability)}, dtype=bool)
    numbers = dict.fromkeys(("energy_above_hull", "rmsd"), np.full(count, np.nan))
    texts = {name: [""] * count for name in ("hull_reason", "verdict", "known_as")}
    return frame.assign(**{**numbers, **texts, **columns})


def evidence(**parts: Any) -> CrystalEvidence:
    return CrystalEvidence(**{"assessed": assessed(0), "described": described([]), **parts})


def subject(**files: Path) -> Subject:
    tokens = torch.zeros(1, 1, dtype=torch.long)
    data = TokenData(tokens, tokens, tokens, Vocabulary.single(2), {"name": "crystals"})
    return Subject(SampleSet(tokens, {"run": "x", "NFE": 250}), data, None, seed=3, files=files)


def scores(metric: Any, known: CrystalEvidence, seed: int = 0, **options: Any) -> dict[str, float]:
    found: dict[str, float] = metric.measure(known, metric.Options(**options), seed)
    assert all(type(value) is float for value in found.values())
    json.dumps(found, allow_nan=False)
    return found


def test_validity_counts_all_that_was_generated() -> None:
    flags = {"structural_valid": [True, True, False, True], "composition_valid": [True, False, True, False]}
    flags["composition_valid_default"] = [False] * 4
    found = scores(crystal_validity, evidence(described=described([0.0] * 4, **flags)))
    assert (found["structural_validity"], found["composition_validity"], found["validity"]) == (75, 50, 25)
    assert found["composition_validity_default"] == 0
    assert found["composition_validity_default_high"] > 0
    assert found["validity_peers"] == 100


def test_validity_by_the_peers_has_columns_of_its_own_and_needs_a_fingerprint() -> None:
    flags = {"structural_valid_peers": [True, True, True, False], "composition_valid_peers": [True, True, False, True]}
    found = scores(crystal_validity, evidence(described=described([0.0, None, 0.0, 0.0], **flags)))
    assert (found["structural_validity_peers"], found["composition_validity_peers"]) == (75, 75)
    assert found["validity_peers"] == 25
    assert found["validity"] == 75


def test_precision_is_of_all_generated_and_recall_of_the_whole_test_set() -> None:
    # Near 0.0: two of five; the others are far, or have no fingerprint. Of the test set, 5.0 is not reached.
    generated, test = described([0.0, 0.3, 2.0, 9.0, None]), described([0.0, 5.0, None])
    found = scores(crystal_coverage, evidence(described=generated, test=test), composition_cutoff=0.4)
    assert found["coverage_precision"] == pytest.approx(100 * 2 / 5)
    assert found["coverage_recall"] == pytest.approx(100 * 1 / 3)
    assert (found["coverage_fingerprints"], found["coverage_test_fingerprints"]) == (4, 2)


def test_the_nearest_structure_and_the_nearest_composition_need_not_belong_together() -> None:
    generated = described([0.0], [100.0])
    test = described([0.0, 50.0], [0.0, 100.0])
    found = scores(crystal_coverage, evidence(described=generated, test=test))
    assert found["coverage_precision"] == 100
    assert found["coverage_recall"] == 0


def test_structures_at_a_cut_off_are_near_and_need_not_be_valid() -> None:
    generated = described([0.4], [10.0], structural_valid=[False], composition_valid=[False])
    found = scores(crystal_coverage, evidence(described=generated, test=described([0.0])))
    assert (found["coverage_precision"], found["coverage_recall"]) == (100, 100)
    closer = scores(crystal_coverage, evidence(described=generated, test=described([0.0])), structure_cutoff=0.39)
    assert closer["coverage_precision"] == 0


def test_missing_entries_of_a_composition_count_as_zero_as_the_peers_do_or_refuse_the_structure() -> None:
    generated, test = described([0.0, 0.0], [np.nan, 30.0]), described([0.0, 0.0], [9.0, np.nan])
    known = evidence(described=generated, test=test)
    peers, refused = scores(crystal_coverage, known), scores(crystal_coverage, known, missing="refuse")
    assert (peers["coverage_precision"], peers["coverage_recall"], peers["coverage_fingerprints"]) == (50, 100, 2)
    assert (refused["coverage_precision"], refused["coverage_recall"], refused["coverage_fingerprints"]) == (0, 0, 1)
    for found in (peers, refused):
        assert (found["coverage_missing_entries"], found["coverage_test_missing_entries"]) == (1, 1)


def test_coverage_of_many_structures_does_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    generated, test = (described(list(draw.normal(size=30) * 3)) for _ in range(2))
    known = evidence(described=generated, test=test)
    whole = scores(crystal_coverage, known, structure_cutoff=0.1)
    monkeypatch.setattr(crystal_coverage, "_BLOCK", 7)
    assert scores(crystal_coverage, known, structure_cutoff=0.1) == whole
    assert 0 < whole["coverage_precision"] < 100


def test_wasserstein_distances_are_those_of_valid_samples_to_the_test_set() -> None:
    generated = described([0, 0, 0, None], density=[1.0, 2.0, 50.0, 90.0], elements=[2, 2, 1, 9])
    generated.loc[2, "composition_valid_peers"] = False
    test = described([0, 0], density=[2.0, 3.0], elements=[3, 3])
    found = scores(crystal_distributions, evidence(described=generated, test=test))
    assert found == {"wasserstein_density": 1.0, "wasserstein_elements": 1.0, "wasserstein_samples": 2.0}


def test_test_structures_that_could_not_be_described_are_left_out_of_wasserstein_distances_and_counted() -> None:
    generated = described([0, 0], density=[2.0, 3.0], elements=[2, 2])
    test = described(
        [0, 0, None, None],
        reason=["", "", "time limit (60 s)", ""],
        density=[2.0, 3.0, 0.0, np.nan],
        elements=[2, 2, 0, 9],
    )
    found = scores(crystal_distributions, evidence(described=generated, test=test))
    expected = {"wasserstein_density": 0.0, "wasserstein_elements": 0.0, "wasserstein_samples": 2.0}
    assert found == expected | {"wasserstein_test_structures": 2.0}
    none = scores(crystal_distributions, evidence(described=generated, test=test.iloc[2:]))
    assert none == {"wasserstein_samples": 2.0, "wasserstein_test_structures": 0.0}


def test_test_structures_whose_description_failed_count_in_the_recall() -> None:
    test = described([0.0, None], reason=["", "time limit (60 s)"])
    found = scores(crystal_coverage, evidence(described=described([0.0]), test=test))
    assert found["coverage_recall"] == 50


def test_samples_for_wasserstein_distances_are_drawn_by_seed() -> None:
    generated, test = described([0.0] * 50), described([0.0], density=[0.0])
    known = evidence(described=generated, test=test)
    first, again, other = (scores(crystal_distributions, known, seed, samples=5) for seed in (1, 1, 2))
    assert first == again != other
    assert first["wasserstein_samples"] == 5


def test_symmetry_is_of_the_structures_whose_space_group_is_known() -> None:
    atoms = {"numbers": [[11, 17], [11, 17], [8, 8], [94], [1]], "reason": ["", "", "", "", "no such cell"]}
    generated = described([0.0] * 5, space_group=[1, 1, 225, 0, 0], **atoms)
    test = described([0.0] * 4, space_group=[225, 225, 1, 1])
    found = scores(crystal_symmetry, evidence(described=generated, test=test))
    assert found["p1_rate"] == pytest.approx(200 / 3)
    assert found["p1_rate_low"] < found["p1_rate"] < found["p1_rate_high"]
    assert (found["space_groups"], found["space_groups_known"], found["distinct_elements"]) == (2, 3, 4)
    assert 0 < found["space_group_distance"] < 0.2
    assert "relaxed_p1_rate" not in found


@pytest.mark.parametrize(
    "first, second, expected",
    [([1, 1, 2], [2, 1, 1, 1, 1, 2], 0), ([1], [2, 3], 1), ([1], [1, 2], math.sqrt(1 - 0.75 * math.log2(3) + 0.5))],
)
def test_the_distance_of_space_groups_is_that_of_jensen_and_shannon(
    first: list[int], second: list[int], expected: float
) -> None:
    assert crystal_symmetry.distance(first, second) == pytest.approx(expected, abs=1e-7)
    assert crystal_symmetry.distance(second, first) == pytest.approx(expected, abs=1e-7)


def test_relaxed_structures_have_columns_of_their_own() -> None:
    rows = assessed(3, space_group_relaxed=[1, 225, 0])
    generated, test = described([0.0] * 3, space_group=[1, 1, 1]), described([0.0], space_group=[225])
    found = scores(crystal_symmetry, evidence(assessed=rows, described=generated, test=test))
    assert (found["p1_rate"], found["relaxed_p1_rate"], found["relaxed_space_groups"]) == (100, 50, 2)
    assert found["space_group_distance"] == 1
    assert found["relaxed_space_group_distance"] < 1
    assert "relaxed_distinct_elements" not in found


def test_stability_is_of_all_that_were_to_be_relaxed() -> None:
    rows = assessed(
        8,
        attempted=[True] * 5 + [False] * 3,
        converged=[True, True, True, False, False] + [False] * 3,
        stable=[True, True] + [False] * 6,
        metastable=[True, True, True] + [False] * 5,
        unique=[False] + [True] * 7,
        novel=[True] * 4 + [False] * 4,
        sun=[True, False] + [False] * 6,
        msun=[True, True, True] + [False] * 5,
        stable_converged=[True] + [False] * 7,
        stable_published=[True] * 5 + [False] * 3,
        known_as=[""] * 4 + ["mp-1"] * 2 + [""] * 2,
        rmsd=[0.1, 0.2, 0.6] + [np.nan] * 5,
        verdict=["stable", "within the error", "within the error", "unstable"] + [""] * 4,
        energy_above_hull=[-0.1, -0.2, 0.05, 0.3] + [np.nan] * 4,
        hull_reason=[""] * 4 + ["no reference for Pu"] + [""] * 3,
    )
    found = scores(crystal_stability, evidence(assessed=rows, evaluations=250.0))
    expected = {
        "relaxed": 5,
        "convergence_rate": 60,
        "stability_rate": 40,
        "metastability_rate": 60,
        "sun_rate": 20,
        "msun_rate": 60,
        "stability_rate_converged": 20,
        "stability_rate_published": 100,
        "verdict_stable_rate": 20,
        "verdict_within_error_rate": 40,
        "copy_rate": 25,
        "mean_rmsd": 0.3,
        "with_rmsd": 3,
        "with_energy_above_hull": 4,
        "median_rmsd": 0.2,
        "mean_energy_above_hull": 0.0125,
        "uniqueness": 87.5,
        "novelty": 50,
        "no_reference": 1,
        "evaluations_per_stable": 250 * 5 / 2,
        "median_energy_above_hull": -0.025,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert "dft_stability_rate" not in found


def test_the_stability_by_density_functional_theory_is_shown_once_there_is_one() -> None:
    rows = assessed(4, attempted=[True] * 4)
    rows["dft_energy_above_hull"], rows["dft_stable"] = [-0.1, 0.2, np.nan, np.nan], [True, False, None, None]
    found = scores(crystal_stability, evidence(assessed=rows))
    assert (found["dft_calculated"], found["dft_stability_rate"]) == (2, 25)


def test_a_judge_agrees_if_both_energies_are_on_the_same_side_of_metastability() -> None:
    ours, theirs = [0.05, 0.05, 0.2, np.nan, -0.1], [0.1, 0.3, 0.4, 0.0, np.nan]
    rows = assessed(5, attempted=[True] * 5, energy_above_hull=ours, energy_above_hull_sevennet=theirs)
    found = scores(crystal_stability, evidence(assessed=rows))
    assert found["judge_agreement_sevennet"] == pytest.approx(200 / 3)


def test_no_stable_structure_has_no_cost_and_a_rate_of_zero() -> None:
    found = scores(crystal_stability, evidence(assessed=assessed(3, attempted=[True] * 3), evaluations=250.0))
    assert (found["stability_rate"], found["uniqueness"]) == (0, 0)
    assert "evaluations_per_stable" not in found
    assert "median_energy_above_hull" not in found


def test_what_was_not_asked_about_is_left_out() -> None:
    rows = assessed(2, attempted=[True, True]).drop(
        columns=["stable", "metastable", "novel", "sun", "msun", "known_as", "verdict"]
    )
    known = evidence(assessed=rows, described=described([0.0, 0.0]))
    assert not {"stability_rate", "sun_rate", "novelty", "copy_rate"} & scores(crystal_stability, known).keys()
    assert scores(crystal_coverage, known) == scores(crystal_distributions, known) == {}
    assert "space_group_distance" not in scores(crystal_symmetry, known)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("count", [0, 3])
def test_no_usable_structure_is_no_error(metric: Any, count: int) -> None:
    known = evidence(assessed=assessed(count), described=described([None] * count), test=described([0.0]))
    found = scores(metric, known)
    assert all(value == 0 for name, value in found.items() if not name.endswith("_high") and "test" not in name)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_scores_are_those_of_the_tables_of_earlier_stages(metric: Any, tmp_path: Path) -> None:
    rows = assessed(3, attempted=[True] * 3, stable=[True, False, False], structural_valid=[True, True, False])
    tables = {"structures": rows, "described": described([0.0, 0.3, 9.0]), "test": described([0.0, 5.0])}
    for name, table in tables.items():
        write_table(tmp_path / name, table)
    known = CrystalEvidence(*tables.values(), evaluations=250.0)
    found = metric.score(subject(**{name: tmp_path / name for name in tables}), metric.Options())
    assert found == scores(metric, known, seed=3) != {}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_samples_that_are_no_crystals_are_an_error_that_says_so(metric: Any) -> None:
    with pytest.raises(KinoflowError, match="data 'crystals': these are no crystals; remove the metrics crystal_"):
        metric.score(subject(), metric.Options())
