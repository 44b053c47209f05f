"""Figures of images, the paths that they take to noise, and the table of a tokenizer."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_images import CLASSES, LEVELS, SIDE, image_config, image_data, token_data
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary
from pipeline.images import conditional_path, tokenizer_table
from pipeline.images.conditional_path import MASKED, TIMES, examples, painted
from pipeline.images.decoding import Decoder
from pipeline.images.evaluate import read_pictures
from pipeline.images.extractor import FeatureExtractor
from pipeline.images.feature_choice import ChosenFeatures
from pipeline.images.figures.images import Options, draw
from pipeline.images.frechet import ImageReference, Statistics
from pipeline.images.grids import grid_of
from pipeline.images.imagedata import to_bytes
from pipeline.images.pictures import Pictures
from pipeline.images.tokenizer import SavedTokenizer
from pipeline.report.exhibit import Exhibit
from pipeline.sampling.samples import SampleSet
from pipeline.stages.conditional_path import conditional_path as conditional_path_stage
from pipeline.stages.job import Job
from pipeline.stages.tokenizer_report import tokenizer_report as tokenizer_report_stage
from pipeline.tokens.token_data import TokenData

DATA = token_data()
LABELS = torch.arange(9) % CLASSES
IMAGES = (LABELS * 100).to(torch.uint8)[:, None, None, None].expand(-1, SIDE, SIDE, 1)  # as bright as the class says


WITH_LABELS, WITHOUT_LABELS = Path("with_labels"), Path("without_labels")


@pytest.fixture(autouse=True)
def _pictures(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the pictures of all exhibits."""
    monkeypatch.chdir(tmp_path_factory.mktemp("pictures"))
    Pictures(IMAGES, {}, LABELS).save(WITH_LABELS)
    Pictures(IMAGES, {}).save(WITHOUT_LABELS)


def exhibit(run: str, distance: float | None = None, labels: Tensor | None = LABELS, **conditions: Any) -> Exhibit:
    conditions = {"run": run, "temperature": 1.0} | conditions
    return Exhibit(
        SampleSet(torch.zeros(9, DATA.length, dtype=torch.int64), conditions, labels=labels),
        scores=None if distance is None else {"frechet_distance": distance},
        pictures=WITHOUT_LABELS if labels is None else WITH_LABELS,
    )


SWEPT = [
    exhibit("metric", 3.0, NFE=64, guidance=1.0, velocity="kinetic_optimal"),
    exhibit("metric_steps_8", 5.0, NFE=8, guidance=1.0, velocity="kinetic_optimal", weights="metric"),
    exhibit("metric_guidance_2", 2.0, NFE=64, guidance=2.0, velocity="kinetic_optimal", weights="metric"),
    exhibit("data", 1.0),
    exhibit("independent", 9.0, labels=None),
]


def test_pictures_are_shown_of_runs_with_networks_of_their_own_and_of_references() -> None:
    figure = draw(SWEPT, DATA, Options())
    names = [axes.get_ylabel() for axes in figure.axes if axes.images]
    assert names == ["metric", "held-out data", "independent columns"]


def test_pictures_stand_in_the_column_of_their_class() -> None:
    (shown,) = draw(SWEPT[:1], DATA, Options(rows=2)).axes[0].images
    order = torch.tensor([0, 1, 2, 3, 4, 5])  # classes take turns
    assert (np.asarray(shown.get_array()) == grid_of(IMAGES[order], CLASSES)).all()


def test_there_is_a_panel_for_each_value_that_was_swept() -> None:
    figure = draw(SWEPT, DATA, Options())
    panels = {axes.get_xlabel(): axes for axes in figure.axes if axes.lines}
    assert list(panels) == ["network evaluations", "scale of guidance"]
    steps = panels["network evaluations"].lines[0]
    assert (list(steps.get_xdata()), list(steps.get_ydata())) == ([8, 64], [5.0, 3.0])
    assert steps.get_label() == "metric, kinetic_optimal"
    assert "held-out data" in {text.get_text() for text in panels["network evaluations"].texts}


def test_where_nothing_was_swept_there_are_no_panels() -> None:
    assert not any(axes.lines for axes in draw([SWEPT[0], SWEPT[3]], DATA, Options()).axes)


@pytest.mark.parametrize("exhibits", [SWEPT, SWEPT[:1], SWEPT[3:], [exhibit("run_with_a_name_that_is_quite_long")]])
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("classes", [3, 10])
def test_the_names_of_the_rows_are_within_the_figure(exhibits: list[Exhibit], rows: int, classes: int) -> None:
    figure = draw(exhibits, replace(DATA, classes=classes), Options(rows=rows))
    figure.savefig(io.BytesIO())  # the layout is made when it is drawn
    for axes in figure.axes:
        if axes.images:
            assert axes.yaxis.label.get_window_extent().x0 >= 0, axes.get_ylabel()


def test_without_pictures_there_is_an_error_that_names_the_flag() -> None:
    with pytest.raises(KinoflowError, match="metric: this figure shows pictures; give them with --pictures"):
        draw([replace(SWEPT[0], pictures=None)], DATA, Options())


def test_masked_places_are_painted_and_others_show_their_pixels() -> None:
    x = DATA.test[:2].long()
    x[0, 5] = DATA.vocabulary.mask  # the pixel in row 1, column 1
    pictures = painted(Decoder.of(DATA, None), DATA, x)
    expected = to_bytes(image_data().images["test"][:2], LEVELS).expand(-1, -1, -1, 3).clone()
    expected[0, 1, 1] = MASKED
    assert torch.equal(pictures, expected)


def test_a_pixel_with_a_channel_that_is_known_is_not_painted() -> None:
    data = replace(DATA, grid=(2, 2, 4))  # four channels of 2 x 2 pixels
    x = data.test[:1].long()
    x[0, :3] = data.vocabulary.mask
    x[0, 4:8] = data.vocabulary.mask
    rows, columns, channels = 2, 2, 4

    class Grey:
        grid = (rows, columns, channels)

        def pictures(self, tokens: Tensor) -> Tensor:
            assert int(tokens.max()) < data.vocabulary.mask
            return torch.zeros(len(tokens), rows, columns, 1, dtype=torch.uint8)

    found = painted(Grey(), data, x)  # type: ignore[arg-type]
    assert torch.equal(found[0, 0, 1], MASKED)
    assert int(found.sum()) == int(MASKED.long().sum())


def test_masked_codes_are_painted_as_squares_of_pixels_and_decoded_as_live_ones() -> None:
    kinds = [NEVER_DATA, 0, 0, NEVER_DATA]  # the first code is dead, the last token is the mask
    tokens = torch.tensor([[1, 2, 3, 1]])
    data = TokenData(
        *([torch.tensor([[1, 2, 2, 1]])] * 3), Vocabulary(kinds, mask=3), {"name": "codes"}, grid=(2, 2, 1)
    )

    class Doubling:
        grid = (2, 2, 1)

        def pictures(self, tokens: Tensor) -> Tensor:
            assert tokens.tolist() == [[1, 2, 1, 1]]
            pixels = tokens.to(torch.uint8).view(-1, 2, 2, 1)
            return pixels.repeat_interleave(3, 1).repeat_interleave(3, 2)

    found = painted(Doubling(), data, tokens)  # type: ignore[arg-type]
    assert found.shape == (1, 6, 6, 3)
    assert torch.equal(found[0, 3:, :3].reshape(-1, 3).unique(dim=0), MASKED[None])
    assert found[0, :3, 3:].unique().tolist() == [2]


def test_the_examples_are_the_first_of_each_class() -> None:
    labels = torch.tensor([1, 1, 0, 0, 2, 1, 2])
    chosen = examples(replace(DATA, labels=DATA.labels | {"test": labels}))
    assert torch.equal(chosen, DATA.test[[0, 2, 4]].long())
    assert torch.equal(examples(replace(DATA, labels={})), DATA.test[:3].long())


def test_paths_go_from_noise_to_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, Tensor] = {}
    draw_figure = conditional_path.draw
    monkeypatch.setattr(conditional_path, "draw", lambda found: shown.update(found) or draw_figure(found))
    DATA.save(tmp_path / "tokens")
    conditional_path_stage(
        Job(image_config(tmp_path), "pixels"), tokens=tmp_path / "tokens", tokenizer=None, output=tmp_path / "path.png"
    )
    assert list(shown) == ["mask (scheduler=cubic)", "metric (lp=2, a=1, c=3)"]  # swept runs have no further ones
    images = to_bytes(image_data().images["test"][:3], LEVELS).expand(-1, -1, -1, 3)
    for frames in shown.values():
        assert frames.shape == (len(TIMES), 3, SIDE, SIDE, 3)
        assert torch.equal(frames[-1], images)
        assert not torch.equal(frames[0], images)
    assert bool((shown["mask (scheduler=cubic)"][0] == MASKED).all())
    assert read_pictures(tmp_path).shape[0] == 1


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the table of a tokenizer that changes images in a given way."""
    images = image_data()
    images.save(tmp_path / "images")
    record = {"codebook": {"codes": 5, "live": 4, "dead": 1, "duplicates": 0, "perplexity": 3.0}}
    replace(DATA, record=record).save(tmp_path / "tokens")
    (tmp_path / "tokenizer").write_text("never read")

    def means(pictures: Tensor) -> Tensor:
        return pictures.float().mean(dim=(2, 3))[:, :2]  # of the first two rows

    extractor = FeatureExtractor(means, 2, torch.device("cpu"))
    features = means(to_bytes(images.images["train"], LEVELS))
    ImageReference(Statistics.of(features), features, "rows", "noise train", images.classes, None).save(
        tmp_path / "ref"
    )
    monkeypatch.setattr(SavedTokenizer, "load", lambda *_: None)
    monkeypatch.setattr(ChosenFeatures, "load", lambda *_, **__: extractor)

    def make(change: Any) -> tuple[list[dict[str, str]], str]:
        monkeypatch.setattr(tokenizer_table, "reconstruct", lambda saved, images, live: change(images))
        files = {name: tmp_path / name for name in ("images", "tokens", "tokenizer")}
        output = {name: tmp_path / f"tokenizer.{name}" for name in ("csv", "markdown", "numbers")}
        job = Job(image_config(tmp_path), "latents")
        tokenizer_report_stage(job, image_reference=tmp_path / "ref", **files, **output)
        with output["csv"].open() as stream:
            return list(csv.DictReader(stream)), output["markdown"].read_text()

    return make


def test_a_tokenizer_that_changes_nothing_has_a_distance_of_zero(table: Any) -> None:
    rows, markdown = table(lambda images: images)
    ours, papers = rows
    assert float(ours["rfid"]) == pytest.approx(0, abs=1e-6)
    assert float(ours["psnr"]) == 100
    assert float(ours["l1"]) == 0
    assert float(ours["frechet_distance"]) == pytest.approx(float(ours["held_out_frechet_distance"]), rel=1e-6)
    assert (ours["origin"], ours["features"], ours["images"], ours["live_share"]) == ("ours", "rows", "7", "0.8")
    assert (papers["origin"], papers["rfid"], papers["paper_rfid"]) == ("paper", "", "2.2")
    assert "VQVAE of the paper" in markdown


def test_the_numbers_of_a_tokenizer_are_those_of_its_table(table: Any, tmp_path: Path) -> None:
    (ours, _), _ = table(lambda images: images // 2)
    numbers = json.loads((tmp_path / "tokenizer.numbers").read_text())
    assert list(numbers) == ["latents tokenizer"]
    found = numbers["latents tokenizer"]
    assert found == {key: float(ours[key]) for key in found}
    assert {"rfid", "psnr", "held_out_frechet_distance", "live_share"} <= set(found)


def test_a_tokenizer_that_darkens_images_is_at_a_distance_from_them(table: Any) -> None:
    (ours, _), _ = table(lambda images: images // 2)
    assert float(ours["rfid"]) > 10
    assert float(ours["psnr"]) < 20
    assert float(ours["frechet_distance"]) > float(ours["held_out_frechet_distance"])
