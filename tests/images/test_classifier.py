"""The classifier of an experiment's own images: what it learns, its file, and going on from a checkpoint."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.images.classifier import Classifier, ClassifierObjective, Description, load_classifier, save_classifier
from pipeline.images.feature_choice import ChosenFeatures, FeatureChoice
from pipeline.images.features.classifier import Options
from pipeline.images.frechet import ImageReference
from pipeline.images.imagedata import Augmentation, ImageData
from pipeline.stages.image_reference import image_reference as image_reference_stage
from pipeline.stages.job import Job
from pipeline.stages.train_classifier import train_classifier as train_classifier_stage
from pipeline.tokens.token_data import SPLITS

SMALL = {"name": "classifier", "width": 8, "features": 4, "steps": 30, "batch": 16, "learning_rate": 0.01}
RUN = {"path": {"name": "mask"}, "loss": "cross_entropy"}


def quadrants(augmentation: Augmentation = "none") -> ImageData:
    """Return images of 6 x 6 pixels with a bright spot at the left or at the right: two classes."""
    generator = torch.Generator().manual_seed(0)
    images, labels = {}, {}
    for split in SPLITS:
        pixels = torch.randint(4, (40, 6, 6, 1), generator=generator, dtype=torch.uint8)
        classes = torch.arange(40) % 2
        for image, label in zip(pixels, classes.tolist(), strict=True):
            image[2:4, 1 + 3 * label : 3 + 3 * label] = 15
        images[split], labels[split] = pixels, classes
    return ImageData(images, labels, ("left", "right"), 16, 6, augmentation, {"name": "spots"})


def config(features: Any = SMALL, **metric: Any) -> Config:
    experiment = {
        "data": {"name": "pixels"},
        "model": {"name": "mlp"},
        "scoring": {"frechet_distance": {"features": features, **metric}},
        "runs": {"mask": RUN | {"model": {"name": "mlp"}}},
    }
    return Config.model_validate({"scale": "tiny", "experiments": {"spots": experiment}})


def train(folder: Path, chosen: Config, data: ImageData | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (data or quadrants()).save(folder / "images.safetensors")
    train_classifier_stage(
        Job(chosen, "spots"),
        images=folder / "images.safetensors",
        checkpoints=folder / "checkpoints",
        gpus=0,
        weights=folder / "classifier.safetensors",
        metrics=folder / "metrics.json",
        history=folder / "history.csv",
    )
    return folder / "classifier.safetensors"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("trained") / "first", config()).parent


def test_it_learns_the_classes_and_says_how_well(trained: Path) -> None:
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["test_accuracy"] == 100
    assert metrics["test_accuracy_low"] < 100
    assert metrics["step"] == 30
    with (trained / "history.csv").open() as stream:
        assert [row["step"] for row in csv.DictReader(stream)] == ["30"]
    assert (trained / "classifier.safetensors.provenance.json").is_file()
    assert list((trained / "checkpoints").glob("*/step-*.pt"))


def test_its_features_and_classes_are_those_of_the_network_that_was_saved(trained: Path) -> None:
    chosen = ChosenFeatures.of(FeatureChoice(**SMALL))
    extractor = chosen.load(
        cache=Path("none"), classifier=trained / "classifier.safetensors", device=torch.device("cpu")
    )
    data = quadrants()
    images = (data.images["test"].float() * 17).to(torch.uint8)
    features = extractor.features(images)
    assert features.shape == (40, extractor.width) == (40, 4)
    assert extractor.classes == ("left", "right")
    assert torch.equal(extractor.classes_of(extractor.features(images)), data.labels["test"])  # type: ignore[arg-type]
    assert torch.equal(extractor.classes_of(features), data.labels["test"])  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_weights(trained: Path, tmp_path: Path) -> None:
    again = train(tmp_path / "again", config())
    assert again.read_bytes() == (trained / "classifier.safetensors").read_bytes()


def test_training_images_are_seen_in_all_views_and_others_in_the_first() -> None:
    data = quadrants("flip")
    seen: list[torch.Tensor] = []

    class Spy(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(images)
            return torch.zeros(len(images), 2)

    for split in (0, 1):
        rows = torch.stack([torch.full((40,), split), torch.arange(40)], dim=1)
        losses = ClassifierObjective(data)(Spy(), rows, torch.Generator().manual_seed(0))
        assert losses.shape == (40,)
    train, validation = (images / 17 for images in seen)
    plain = data.images["train"].float()
    straight, mirrored = ((train == views).all(dim=3).all(dim=2).all(dim=1) for views in (plain, plain.flip(2)))
    assert bool((straight | mirrored).all())
    assert 5 < int(straight.sum()) < 35
    assert torch.equal(validation, data.images["validation"].float())


@pytest.mark.parametrize("side, channels", [(5, 1), (8, 1), (28, 1), (32, 3), (64, 3)])
def test_images_of_any_size_can_be_classified(side: int, channels: int) -> None:
    description = Description(options=Options(width=8, features=4), side=side, channels=channels, classes=("a", "b"))
    images = torch.randint(256, (2, side, side, channels), dtype=torch.uint8)
    assert Classifier(description)(images).shape == (2, 2)


def test_weights_that_were_trained_otherwise_or_are_none_are_an_error(tmp_path: Path) -> None:
    path, options = tmp_path / "classifier.safetensors", Options(width=8, features=4)
    description = Description(options=options, side=6, channels=1, classes=("a", "b"))
    save_classifier(path, Classifier(description), description)
    assert load_classifier(path, options)[1] == ("a", "b")
    with pytest.raises(KinoflowError, match=r"trained with .*steps=600.*, not .*steps=5.*; train it again"):
        load_classifier(path, Options(width=8, features=4, steps=5))
    quadrants().save(path)
    with pytest.raises(KinoflowError, match="holds images, not classifier"):
        load_classifier(path, options)


def test_features_that_are_not_trained_here_and_images_of_one_class_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="features = cifar_resnet: is not trained here"):
        train(tmp_path, config("cifar_resnet"))
    one = quadrants()
    labels = {split: 0 * labels for split, labels in one.labels.items()}
    one = ImageData(one.images, labels, ("left",), 16, 6, "none", one.origin)
    with pytest.raises(KinoflowError, match="1 classes, a classifier needs two"):
        train(tmp_path, config(), one)


def test_the_reference_describes_all_views_of_the_training_images(trained: Path, tmp_path: Path) -> None:
    quadrants("flip").save(tmp_path / "images.safetensors")
    files = {"images": tmp_path / "images.safetensors", "classifier": trained / "classifier.safetensors"}
    image_reference_stage(Job(config(compared=30, batch=7), "spots"), **files, output=tmp_path / "few.safetensors")
    image_reference_stage(Job(config(batch=64), "spots"), **files, output=tmp_path / "all.safetensors")
    few, full = (ImageReference.load(tmp_path / f"{name}.safetensors") for name in ("few", "all"))
    assert few.images == "spots train, 2 views of 40 images"
    assert few.features == "own classifier (4 features, 30 steps)"
    assert few.classes == ("left", "right")
    assert few.statistics.n == len(full.neighbours) == 80
    chosen = ChosenFeatures.of(FeatureChoice(**SMALL))
    extractor = chosen.load(cache=Path("none"), classifier=files["classifier"], device=torch.device("cpu"))
    images = quadrants().images["train"] * 17
    assert torch.allclose(full.neighbours, extractor.features(torch.cat([images, images.flip(2)])), atol=1e-5)
    assert torch.allclose(few.statistics.mean, full.neighbours.double().mean(dim=0), rtol=1e-5)
    assert torch.allclose(few.statistics.covariance, full.neighbours.double().T.cov(), rtol=1e-4, atol=1e-7)
    nearest = torch.cdist(few.neighbours.double(), full.neighbours.double()).min(dim=1)
    assert few.neighbours.shape == (30, 4)
    assert float(nearest.values.max()) < 1e-4
    assert not torch.equal(nearest.indices, torch.arange(30))  # a random choice
    assert (tmp_path / "few.safetensors.provenance.json").is_file()


def test_an_experiment_that_compares_no_images_has_no_reference(tmp_path: Path) -> None:
    quadrants().save(tmp_path / "images.safetensors")
    chosen = config()
    experiment = chosen.experiments["spots"].model_copy(update={"scoring": {}})
    chosen = chosen.model_copy(update={"experiments": {"spots": experiment}})
    with pytest.raises(KinoflowError, match=r"experiments\.spots\.scoring: has no frechet_distance"):
        image_reference_stage(
            Job(chosen, "spots"), images=tmp_path / "images.safetensors", classifier=None, output=tmp_path / "reference"
        )
