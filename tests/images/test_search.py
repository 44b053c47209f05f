"""The search for a run's velocity and corrector."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from small_images import image_config, token_data, write_model

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.images.feature_choice import ChosenFeatures
from pipeline.images.metrics import frechet_distance
from pipeline.images.search import candidates_of
from pipeline.sampling import blocks
from pipeline.sampling.samples import SampleSet
from pipeline.stages.job import RunJob
from pipeline.stages.sample import sample as sample_stage
from pipeline.stages.search import search as search_stage

DATA = token_data()
RUN = "metric_searched_4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    DATA.save(folder / "tokens")
    write_model(configured(folder), "pixels", "metric", DATA, folder / "weights")
    (folder / "reference").write_text("never read")
    return folder


def configured(folder: Path, **search: Any) -> Config:
    return image_config(
        folder, search={"corrector": [0, 1.5], "steps": [4]} | search, sampling={"count": 7, "block": 4}
    )


@dataclass
class Judge:
    """Gives distances in turn; those that are None end the process."""

    distances: Iterator[float | None]
    judged: list[torch.Tensor] = field(default_factory=list)

    def __call__(self, pictures: torch.Tensor, *others: Any) -> dict[str, float]:
        distance = next(self.distances)
        if distance is None:
            raise KeyboardInterrupt
        self.judged.append(pictures)
        return {"frechet_distance": distance}


@pytest.fixture
def searched(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Judge]:
    """Return a function that searches under a judge with given distances."""

    def make(config: Config, *distances: float | None) -> Judge:
        judge = Judge(iter(distances))
        monkeypatch.setattr(frechet_distance, "compared", judge)
        monkeypatch.setattr(frechet_distance, "checked_reference", lambda *given: None)
        monkeypatch.setattr(ChosenFeatures, "load", lambda chosen, **given: None)
        search_stage(
            RunJob(config, "pixels", RUN),
            tokens=folder / "tokens",
            weights=folder / "weights",
            image_reference=folder / "reference",
            journal=tmp_path / "journal",
            output=tmp_path / "found.json",
        )
        return judge

    return make


@pytest.mark.parametrize(
    "distances, velocity, weight",
    [
        ((3.0, 1.0, 2.0, 4.0), "kinetic_optimal", 1.5),
        ((3.0, 4.0, 2.0, 2.5), "power_infinity", None),
        ((1.0, 4.0, 1.0, 2.5), "kinetic_optimal", None),
    ],
)
def test_the_least_distance_is_found(
    distances: tuple[float, ...],
    velocity: str,
    weight: float | None,
    searched: Callable[..., Judge],
    folder: Path,
    tmp_path: Path,
) -> None:
    judge = searched(configured(folder), *distances)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["found"]["velocity"] == {"name": velocity}
    assert (found["found"]["corrector"] or {}).get("weight") == weight
    assert [row["frechet_distance"] for row in found["tried"]] == list(distances)
    tried = [(row["velocity"]["name"], (row["corrector"] or {}).get("weight")) for row in found["tried"]]
    assert tried == [(name, weight) for name in ("kinetic_optimal", "power_infinity") for weight in (None, 1.5)]
    assert [len(pictures) for pictures in judge.judged] == [12] * 4  # the count of the search, not of the samples
    assert not (tmp_path / "journal").exists()


def test_every_combination_draws_samples_of_its_own(searched: Callable[..., Judge], folder: Path) -> None:
    judged = searched(configured(folder), 1.0, 2.0, 3.0, 4.0).judged
    for number, pictures in enumerate(judged):
        assert not any(torch.equal(pictures, other) for other in judged[number + 1 :])


def test_a_search_that_was_stopped_goes_on_with_what_is_left(
    searched: Callable[..., Judge], folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(configured(folder), 3.0, 1.0, None)
    assert len(searched(configured(folder), 2.0, 4.0).judged) == 2
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["frechet_distance"] for row in found["tried"]] == [3.0, 1.0, 2.0, 4.0]
    assert found["found"]["corrector"]["weight"] == 1.5


def test_what_was_found_under_other_settings_is_not_taken_up(searched: Callable[..., Judge], folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(configured(folder), 3.0, 1.0, None)
    assert len(searched(configured(folder, count=6), 1.0, 2.0, 3.0, 4.0).judged) == 4


def test_the_noise_is_the_same_for_all_combinations_and_not_that_of_the_samples(
    searched: Callable[..., Judge], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, draw = list[int](), blocks.draw_blocks

    def drawn(*given: Any, **options: Any) -> Any:
        seeds.append(given[3])
        return draw(*given, **options)

    monkeypatch.setattr(blocks, "draw_blocks", drawn)
    config = configured(folder)
    searched(config, 1.0, 2.0, 3.0, 4.0)
    sample(config, RUN, folder, tmp_path / "samples", tmp_path / "found.json")
    *searching, reported = seeds
    assert len(searching) == 4
    assert len(set(searching)) == 1
    assert reported not in searching


def test_the_samples_are_drawn_with_what_was_found(
    searched: Callable[..., Judge], folder: Path, tmp_path: Path
) -> None:
    config = configured(folder)
    searched(config, 4.0, 3.0, 2.0, 1.0)
    conditions = sample(config, RUN, folder, tmp_path / "samples", tmp_path / "found.json").conditions
    said = {"run": RUN, "weights": "metric", "NFE": 4, "velocity": "power_infinity", "searched": "yes"}
    assert said.items() <= conditions.items()
    assert "weight=1.5" in conditions["corrector"]


def test_the_step_is_searched_too(searched: Callable[..., Judge], folder: Path, tmp_path: Path) -> None:
    config = configured(folder, velocity=["kinetic_optimal"], step=["exact", "paper_euler"], corrector=[0])
    searched(config, 2.0, 1.0)
    found = json.loads((tmp_path / "found.json").read_text())
    assert [row["step"]["name"] for row in found["tried"]] == ["exact", "paper_euler"]
    conditions = sample(config, RUN, folder, tmp_path / "samples", tmp_path / "found.json").conditions
    assert conditions["step"] == "paper_euler"


def test_a_file_is_refused_for_a_run_that_is_not_searched_and_required_for_one_that_is(
    folder: Path, tmp_path: Path
) -> None:
    config = configured(folder)
    with pytest.raises(KinoflowError, match=r"run 'metric': sampling\.searched is false; leave --search out"):
        sample(config, "metric", folder, tmp_path / "samples", tmp_path / "found.json")
    with pytest.raises(KinoflowError, match=rf"run '{RUN}': sampling\.searched is true; give the file with --search"):
        sample(config, RUN, folder, tmp_path / "samples", None)


def test_without_a_search_or_its_metric_there_is_nothing_to_choose_from(folder: Path) -> None:
    block = configured(folder).experiments["pixels"]
    for change in ({"search": None}, {"scoring": {}}):
        with pytest.raises(KinoflowError, match=f"run '{RUN}': its experiment has no `search`, or no metric"):
            candidates_of(block.model_copy(update=change), RUN)


def test_a_search_depends_on_what_it_chooses_from_and_not_on_how_many_samples_are_reported(folder: Path) -> None:
    def of(config: Config) -> str:
        return search_stage.settings_text(RunJob(config, "pixels", RUN))

    more = image_config(folder, search={"corrector": [0, 1.5], "steps": [4]}, sampling={"count": 99, "block": 4})
    assert of(configured(folder)) == of(more)
    assert of(configured(folder)) != of(configured(folder, corrector=[0, 2]))


def sample(config: Config, run: str, folder: Path, output: Path, found: Path | None) -> SampleSet:
    files = {"tokens": folder / "tokens", "weights": folder / "weights", "output": output, "search": found}
    sample_stage(RunJob(config, "pixels", run), **files)
    return SampleSet.load(output)
