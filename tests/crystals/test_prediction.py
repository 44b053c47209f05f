"""Structure prediction: what is predicted, by a network and without one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from small_crystals import caesium_chloride, rock_salt
from tiny import TINY, TINY_MATERIALS, write_salts

from pipeline.config import PREDICTED, Config
from pipeline.config.loading import load_config, merge
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.likeliest import log_likelihoods
from pipeline.crystals.prediction import random_structures, structures_of, targets_of
from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of, frame_of, rejected_row, row_of
from pipeline.crystals.tokens import ELEMENT, PADDING, decode, encode
from pipeline.errors import KinoflowError
from pipeline.flow.paths import build_path
from pipeline.networks.saved import load_network
from pipeline.sampling import blocks
from pipeline.stages import load_stages
from pipeline.stages.job import Job, RunJob
from pipeline.stages.predict import predict
from pipeline.stages.prediction_reference import prediction_reference
from pipeline.stages.prepare import prepare
from pipeline.stages.train import train
from pipeline.store.parquet import read_table, write_table
from pipeline.tokens.token_data import TokenData

Files = dict[str, Path]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Files]:
    """Tokens and rows of salts, and the weights of a run that has learnt next to nothing."""
    folder = tmp_path_factory.mktemp("salts")
    write_salts(folder)
    masked = {"path": {"name": "mask"}, "loss": "cross_entropy", "sampling": {"block": 3}}
    changes = {
        "data": {"path": str(folder / "salts.extxyz")},
        "crystals": {"prediction": {"compositions": 3, "samples": 2}},
        "runs": {"mask": masked},
    }
    (folder / "x.yaml").write_text(yaml.safe_dump(TINY | {"experiments": {"salts": merge(TINY_MATERIALS, changes)}}))
    config = load_config(folder / "x.yaml")
    files = {name: folder / name for name in ("tokens", "rows", "weights")}
    prepare(Job(config, "salts"), output=files["tokens"], rows=files["rows"])
    rest = {name: folder / name for name in ("checkpoints", "metrics", "history")}
    train(RunJob(config, "salts", "mask"), tokens=files["tokens"], weights=files["weights"], gpus=0, **rest)
    return config, files


@pytest.mark.parametrize("journal", [False, True])
def test_a_run_predicts_structures_of_exactly_the_compositions_of_test_structures(
    place: tuple[Config, Files], tmp_path: Path, journal: bool
) -> None:
    config, files = place
    folder = {"journal": tmp_path / "journal"} if journal else {}
    predict(RunJob(config, "salts", "mask"), output=tmp_path / "made", **files, **folder)
    made, test = read_table(tmp_path / "made"), structures_of(files["rows"], "test")
    assert made["target"].tolist() == [0, 0, 1, 1, 2, 2]
    assert made["sample"].tolist() == [0, 1] * 3
    assert made["id"].is_unique
    asked = {f"{crystal.id}-001": sorted(crystal.numbers.tolist()) for crystal in test}
    for row in made[made["sample"] == 0].to_dict("records"):
        assert sorted(row["numbers"]) == asked[row["id"]]
    assert not (tmp_path / "journal").exists()


def test_a_prediction_goes_on_with_the_block_after_the_last_finished_one(
    place: tuple[Config, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, files = place
    job, draw, calls = RunJob(config, "salts", "mask"), blocks.draw_tokens, list[int]()
    predict(job, output=tmp_path / "whole", **files)

    def stop_at_the_second(*given: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return draw(*given, **options)

    monkeypatch.setattr(blocks, "draw_tokens", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        predict(job, output=tmp_path / "made", journal=tmp_path / "journal", **files)
    predict(job, output=tmp_path / "made", journal=tmp_path / "journal", **files)
    assert len(calls) == 3  # two blocks of three, one of them tried twice
    assert (tmp_path / "made").read_bytes() == (tmp_path / "whole").read_bytes()


def test_the_ceiling_is_what_the_tokens_of_the_test_structures_say(place: tuple[Config, Files], tmp_path: Path) -> None:
    config, files = place
    files = {name: files[name] for name in ("tokens", "rows")}
    prediction_reference(Job(config, "salts", "data"), reference="data", output=tmp_path / "made", **files)
    found = read_table(tmp_path / "made")
    known = {
        crystal.id: decode(encode(crystal, "nearest", 4)).crystal for crystal in structures_of(files["rows"], "test")
    }
    for row, crystal in zip(found.to_dict("records"), crystals_of(found), strict=True):
        expected = known[row["id"].removesuffix("-001")]
        assert crystal is not None
        assert expected is not None
        assert np.array_equal(crystal.lengths, expected.lengths)
        assert np.array_equal(crystal.fractions, expected.fractions)
    assert found["sample"].tolist() == [0, 0, 0]


def test_random_structures_have_the_right_atoms_and_the_cells_and_densities_of_training_structures() -> None:
    train = [caesium_chloride(length=3.0), caesium_chloride(length=6.0)]
    target = replace(rock_salt(), numbers=np.array([11, 11, 17, 17]), fractions=np.zeros((4, 3)))
    made = random_structures([target, rock_salt("other")], train, 40, seed=1)
    crystals = [crystal for crystal in crystals_of(made) if crystal is not None]
    assert [len(crystal.numbers) for crystal in crystals] == [4] * 40 + [2] * 40
    volumes = {round(float(np.prod(one.lengths)) / len(one.numbers), 6) for one in crystals}
    assert volumes == {13.5, 108.0}
    places = np.concatenate([crystal.fractions for crystal in crystals])
    assert 0 <= places.min() < 0.05
    assert 0.95 < places.max() < 1
    again, other = (random_structures([target], train, 40, seed=seed) for seed in (1, 2))
    assert made["fractions"].iloc[0] == again["fractions"].iloc[0]
    assert made["fractions"].iloc[0] != other["fractions"].iloc[0]


def test_targets_are_usable_test_structures_drawn_by_the_seed(tmp_path: Path) -> None:
    rows = [row_of(rock_salt(f"{number:02}"), split="test" if number < 20 else "train") for number in range(30)]
    rows.append(rejected_row("bad", "no atoms", split="test"))
    write_table(tmp_path / "rows", frame_of(rows, CRYSTAL_COLUMNS | {"split": "str"}))

    def drawn(count: int, seed: int) -> list[str]:
        found: list[Crystal] = targets_of(tmp_path / "rows", count, seed)
        return [target.id for target in found]

    assert drawn(6, 1) == drawn(6, 1) == sorted(set(drawn(6, 1)))
    assert drawn(6, 1) != drawn(6, 2)
    assert drawn(99, 1) == [f"{number:02}" for number in range(20)]


def test_structures_can_be_predicted_at_another_temperature_and_for_validation_structures(
    place: tuple[Config, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, drawn, draw = place[1], list[float](), blocks.draw_tokens

    def note(model: Any, data: Any, sampling: Any, *given: Any, **options: Any) -> Any:
        drawn.append(sampling.temperature)
        return draw(model, data, sampling, *given, **options)

    monkeypatch.setattr(blocks, "draw_tokens", note)
    config = changed(place, temperature=0.25, split="validation")
    predict(RunJob(config, "salts", "mask"), output=tmp_path / "made", **files)
    assert set(drawn) == {0.25}
    asked = {crystal.id for crystal in structures_of(files["rows"], "validation")}
    assert {id.rpartition("-")[0] for id in read_table(tmp_path / "made")["id"]} <= asked


def test_the_likeliest_structure_of_each_composition_comes_first(
    place: tuple[Config, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, known = place[1], list[torch.Tensor]()

    def likelihoods(model: Any, tokens: torch.Tensor, fixed: torch.Tensor, generator: Any) -> torch.Tensor:
        known.append(log_likelihoods(model, tokens, fixed, generator))
        return known[-1]

    monkeypatch.setattr("pipeline.crystals.prediction.log_likelihoods", likelihoods)
    for pick in ("first", "likeliest"):
        config = changed(place, pick=pick, samples=4)
        predict(RunJob(config, "salts", "mask"), output=tmp_path / pick, **files)
    drawn, picked = (read_table(tmp_path / pick)["fractions"].map(str).tolist() for pick in ("first", "likeliest"))
    best = torch.cat(known).view(3, 4).argmax(dim=1).tolist()
    assert [picked[4 * target] for target in range(3)] == [drawn[4 * target + one] for target, one in enumerate(best)]
    assert sorted(picked) == sorted(drawn)


def test_the_likelihood_of_a_network_that_knows_nothing_is_that_of_guessing(place: tuple[Config, Files]) -> None:
    files, rock = place[1], torch.from_numpy(encode(rock_salt(), "nearest", 4))[None].expand(200, -1)
    data = TokenData.load(files["tokens"])
    model = load_network(files["weights"], data, "mask")
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.zero_()
    kinds = data.vocabulary.kinds_of(rock)
    fixed = (kinds == ELEMENT) | (kinds == PADDING)
    found = log_likelihoods(model, rock, fixed, torch.Generator().manual_seed(0))
    sizes = data.vocabulary.targets(kinds[0][~fixed[0]]).sum(-1).double()
    assert float(found.mean()) == pytest.approx(-float(sizes.log().sum()), rel=0.05)


def test_the_likeliest_structure_needs_a_mask_path(place: tuple[Config, Files]) -> None:
    data = TokenData.load(place[1]["tokens"])
    model = load_network(place[1]["weights"], data, "mask")
    other = replace(model, path=build_path("uniform", data.vocabulary))
    with pytest.raises(KinoflowError, match=r"run 'mask': prediction\.pick: likeliest needs a mask path"):
        log_likelihoods(other, data.train[:1].long(), torch.zeros(1, data.length, dtype=torch.bool), torch.Generator())


def jobs_of(config: Config) -> dict[str, list[str]]:
    job = Job(config, "salts")
    return {name: [one.name for one, _ in stage.jobs(job)] for name, stage in load_stages().items()}


def changed(place: tuple[Config, Files], **prediction: Any) -> Config:
    block = place[0].model_dump(mode="json")
    crystals = block["experiments"]["salts"]["crystals"]
    crystals["prediction"] = crystals["prediction"] | prediction if prediction else None
    return Config.model_validate(block, strict=False)


def test_runs_with_a_path_predict_or_those_of_them_that_are_named(place: tuple[Config, Files]) -> None:
    jobs = jobs_of(place[0])
    assert jobs["predict"] == ["mask", "metric"]  # and not the autoregressive one
    assert jobs["prediction_reference"] == list(PREDICTED)
    assert jobs["match_predictions"] == ["mask", "metric", *PREDICTED]
    assert jobs["prediction_table"] == [""]
    assert jobs_of(changed(place, runs=["mask"]))["predict"] == ["mask"]


def test_without_the_block_nothing_is_predicted(place: tuple[Config, Files], tmp_path: Path) -> None:
    config, files = changed(place), place[1]
    stages = ("predict", "prediction_reference", "match_predictions", "prediction_table")
    assert [jobs_of(config)[name] for name in stages] == [[]] * 4
    with pytest.raises(KinoflowError, match=r"experiments\.salts\.crystals\.prediction is null"):
        predict(RunJob(config, "salts", "mask"), output=tmp_path / "made", **files)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"crystals": {"prediction": {"runs": ["ar"]}}}, 'prediction.runs = "ar": no run with a path'),
        ({"crystals": {"prediction": {"runs": ["metrik"]}}}, "did you mean 'metric'"),
        ({"crystals": {"prediction": {"samples": 0}}}, "prediction.samples = 0"),
        ({"runs": {"random": {"path": None}}}, "the name is taken by a reference row"),
    ],
)
def test_a_prediction_that_cannot_be_is_refused(
    tiny_file: Callable[..., Path], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(KinoflowError, match=message):
        load_config(tiny_file({"experiments": {"materials": merge(TINY_MATERIALS, changes)}}))
