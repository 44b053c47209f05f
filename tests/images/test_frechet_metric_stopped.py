"""The distance of samples of images: scoring that was stopped goes on with the next part of their features."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from small_images import image_config
from stopping_network import Network, same
from torch import Tensor

from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.feature_choice import ChosenFeatures, FeatureChoice
from pipeline.images.frechet import ImageReference, Statistics
from pipeline.images.metrics import frechet_distance as metric
from pipeline.images.metrics.frechet_distance import Options, score
from pipeline.images.pictures import Pictures
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.stages.job import Job
from pipeline.stages.score import score as score_stage
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData

COUNT, BATCH, PIXELS = 70, 6, 4 * 4
DATA = TokenData(*([torch.zeros(2, PIXELS, dtype=torch.int64)] * 3), Vocabulary.single(256), {"name": "pixels"})
SAMPLES = SampleSet(torch.zeros(COUNT, PIXELS, dtype=torch.int64), {"run": "data", "seed": 0})
Scored = tuple[dict[str, float], list[Tensor]]


def pictures(n: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(256, (n, 4, 4, 1), generator=generator, dtype=torch.uint8)


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a reference by the network that can be stopped, and let samples be kept in parts of three batches."""
    monkeypatch.setattr(metric, "KEPT_TOGETHER", 3 * BATCH + 2)
    features, path = Network(PIXELS)(pictures(60, 0)), tmp_path / "reference"
    label = ChosenFeatures.of(FeatureChoice(name="classifier")).label
    ImageReference(Statistics.of(features), features, label, "noise", ("even", "odd"), None).save(path)
    return path


@pytest.fixture
def scored(reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scored]:
    """Return a function that gives the scores, and the batches that the network saw before it was stopped, if it was.

    What is finished is kept in a journal of what the scores are `made_from`; None: nothing is kept.
    """

    def make(batches: int | None = None, made_from: str | None = "these") -> Scored:
        network = Network(PIXELS, batches)
        network.is_used(monkeypatch)
        kept = TensorJournal(tmp_path / "journal", made_from) if made_from else None
        Pictures(pictures(COUNT, 1), {"run": "data"}).save(tmp_path / "pictures")
        files = {"pictures": tmp_path / "pictures", "image_reference": reference}
        given = Subject(SAMPLES, DATA, None, 0, files=files, finished_tensors=kept)
        scores: dict[str, float] = {}
        with nullcontext() if batches is None else pytest.raises(KeyboardInterrupt):
            scores = score(given, Options(features=FeatureChoice(name="classifier"), batch=BATCH))
        return scores, network.asked

    return make


@pytest.mark.parametrize("batches, parts", [(2, 0), (3, 1), (5, 1), (8, 2), (11, 3)])
def test_scoring_that_was_stopped_goes_on_with_the_next_part_and_gives_the_same_digits(
    batches: int, parts: int, scored: Callable[..., Scored]
) -> None:
    expected, whole = scored(made_from=None)
    assert [len(images) for images in whole] == [BATCH] * 11 + [4]  # as if there were no parts
    assert same(scored(batches)[1], whole[:batches])
    scores, rest = scored()
    assert same(rest, whole[3 * parts :])
    assert scores == expected
    assert scored() == (expected, [])


def test_a_damaged_part_is_computed_again_and_the_others_are_not(scored: Callable[..., Scored], tmp_path: Path) -> None:
    expected, whole = scored(made_from=None)
    scored(11)
    part = tmp_path / "journal" / "kept-frechet_distance-18.safetensors"
    part.write_bytes(part.read_bytes()[:-1])
    scores, rest = scored()
    assert same(rest, whole[3:6] + whole[9:])
    assert scores == expected


def test_parts_of_something_else_are_not_used(scored: Callable[..., Scored]) -> None:
    scored(11, made_from="those")
    assert len(scored()[1]) == 12


def test_a_stage_that_was_stopped_goes_on_and_leaves_no_journal(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: tmp_path / name for name in ("samples", "tokens", "pictures")}
    DATA.save(files["tokens"])
    SAMPLES.save(files["samples"])
    Pictures(pictures(COUNT, 1), {"run": "data"}).save(files["pictures"])

    def stage(output: str, batches: int | None = None, batch: int = BATCH, journal: Path | None = None) -> list[Tensor]:
        network = Network(PIXELS, batches)
        network.is_used(monkeypatch)
        config = image_config(tmp_path)
        config.experiments["pixels"].scoring["frechet_distance"] = {"features": "classifier", "batch": batch}
        given = {"weights": None, "image_reference": reference, "journal": journal}
        with nullcontext() if batches is None else pytest.raises(KeyboardInterrupt):
            score_stage(Job(config, "pixels"), **files, **given, output=tmp_path / output)
        return network.asked

    whole, journal = stage("calm"), tmp_path / "journal"
    stage("disturbed", 8, journal=journal)
    assert same(stage("disturbed", journal=journal), whole[6:])
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "calm").read_bytes()
    assert not journal.exists()
    stage("disturbed", 8, journal=journal)
    assert len(stage("disturbed", batch=7, journal=journal)) == 10  # the parts are of batches of 6
    assert not journal.exists()
