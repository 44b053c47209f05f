"""The distance of samples of images from a reference: by which features, of which images, of which classes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.config.problems import problems_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.classifier import Classifier, Description, save_classifier
from pipeline.images.extractor import FeatureExtractor
from pipeline.images.feature_choice import ChosenFeatures, FeatureChoice
from pipeline.images.features import classifier
from pipeline.images.frechet import ImageReference, Statistics, frechet_distance
from pipeline.images.metrics import frechet_distance as metric
from pipeline.images.metrics.frechet_distance import Options, classifier_of, conditions, files, inputs, modules, score
from pipeline.images.pictures import Pictures
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.store.provenance import file_hash
from pipeline.tokens.token_data import TokenData

CHOICE = {"name": "classifier", "width": 8, "features": 3, "steps": 1}
LABEL = "own classifier (3 features, 1 steps)"
DATA = TokenData(*([torch.zeros(2, 16, dtype=torch.int64)] * 3), Vocabulary.single(256), {"name": "pixels"})
DISTANCE = {"frechet_distance", "frechet_distance_error"}
NEIGHBOURS = {"precision", "recall", "density", "coverage"}
ACCURACY = {"class_accuracy", "class_accuracy_low", "class_accuracy_high"}


def pictures(n: int, seed: int, brightest: int = 256) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(brightest, (n, 4, 4, 1), generator=generator, dtype=torch.uint8)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a classifier that has not learnt anything, but finds half of the images odd."""
    torch.manual_seed(0)
    options = classifier.Options(width=8, features=3, steps=1)
    description = Description(options=options, side=4, channels=1, classes=("even", "odd"))
    network = Classifier(description)
    with torch.no_grad():
        feature = network.features(pictures(100, 9))[:, 0]
        network.head.weight.copy_(torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
        network.head.bias.copy_(torch.stack([feature.median(), torch.tensor(0.0)]))
    path = tmp_path_factory.mktemp("weights") / "classifier.safetensors"
    save_classifier(path, network, description)
    return path


@pytest.fixture(scope="module")
def extractor(weights: Path) -> FeatureExtractor:
    chosen = ChosenFeatures.of(FeatureChoice(**CHOICE))
    return chosen.load(cache=Path("none"), classifier=weights, device=torch.device("cpu"))


@pytest.fixture
def reference(weights: Path, extractor: FeatureExtractor, tmp_path: Path) -> Path:
    return write_reference(tmp_path, extractor, weights)


def write_reference(folder: Path, extractor: FeatureExtractor, weights: Path, **changes: Any) -> Path:
    features = extractor.features(pictures(60, 0))
    described = {"features": LABEL, "images": "noise train, 60 images", "classes": ("even", "odd")}
    path = folder / "reference.safetensors"
    known = {"classifier": file_hash(weights)} | described | changes
    ImageReference(Statistics.of(features), features, **known).save(path)
    return path


def subject(images: Tensor | None, reference: Path | None, weights: Path, labels: Tensor | None = None) -> Subject:
    tokens = torch.zeros(2 if images is None else len(images), 16, dtype=torch.int64)
    samples = SampleSet(tokens, {"run": "mask"}, labels=labels)
    given = {"classifier": weights}
    if images is not None:
        given["pictures"] = weights.with_name("pictures")
        Pictures(images, {"run": "mask"}).save(given["pictures"])
    if reference is not None:
        given["image_reference"] = reference
    return Subject(samples, DATA, None, 0, files=given)


def options(**values: Any) -> Options:
    return Options(**{"features": CHOICE} | values)


def test_the_distance_is_of_all_samples_whatever_the_batch(
    weights: Path, reference: Path, extractor: FeatureExtractor
) -> None:
    images = pictures(33, 1, brightest=100)
    expected = frechet_distance(Statistics.of(extractor.features(images)), ImageReference.load(reference).statistics)
    for batch in (5, 64):
        scores = score(subject(images, reference, weights), options(batch=batch))
        assert scores.keys() == DISTANCE | NEIGHBOURS
        assert scores["frechet_distance"] == pytest.approx(expected, rel=1e-4)
        assert 0 < scores["frechet_distance_error"] < scores["frechet_distance"]


def test_the_reference_itself_is_at_no_distance_and_others_are_further(weights: Path, reference: Path) -> None:
    same, like, other = (
        score(subject(images, reference, weights), options())
        for images in (pictures(60, 0), pictures(60, 2), pictures(60, 2, brightest=60))
    )
    assert same["frechet_distance"] == pytest.approx(0.0, abs=1e-6)
    assert (same["precision"], same["recall"], same["coverage"]) == (1, 1, 1)
    assert like["frechet_distance"] < 0.2 * other["frechet_distance"]
    assert like["density"] > other["density"]


def test_few_samples_have_a_distance_without_an_error(weights: Path, reference: Path) -> None:
    scores = score(subject(pictures(7, 1), reference, weights), options())
    assert scores.keys() == {"frechet_distance"} | NEIGHBOURS


def test_no_more_images_than_asked_for_are_looked_for_neighbours_of(weights: Path, reference: Path) -> None:
    images = pictures(40, 1)
    few, many = (score(subject(images, reference, weights), options(compared=compared)) for compared in (10, 40))
    assert few["frechet_distance"] == many["frechet_distance"]
    assert any(few[key] != many[key] for key in NEIGHBOURS)


def test_the_order_of_the_samples_does_not_matter_for_their_error(weights: Path, reference: Path) -> None:
    dark, bright = pictures(50, 1, brightest=40), pictures(50, 2)
    mixed = torch.stack([dark, bright], dim=1).flatten(0, 1)
    errors = [
        score(subject(images, reference, weights), options())["frechet_distance_error"]
        for images in (torch.cat([dark, bright]), mixed)
    ]
    assert max(errors) < 2.5 * min(errors)


def test_class_accuracy_counts_samples_that_a_class_was_asked_of(
    weights: Path, reference: Path, extractor: FeatureExtractor
) -> None:
    images = pictures(60, 1)
    labels = extractor.classes_of(extractor.features(images))
    assert labels is not None
    assert 20 < int(labels.sum()) < 40
    labels[:6] = 1 - labels[:6]
    labels[50:] = 2  # no class
    scores = score(subject(images, reference, weights, labels), options())
    assert scores.keys() == DISTANCE | NEIGHBOURS | ACCURACY
    assert scores["class_accuracy"] == pytest.approx(100 * 44 / 50)
    none = score(subject(images, reference, weights, torch.full((60,), 2)), options())
    assert none.keys() == DISTANCE | NEIGHBOURS


def test_a_classifier_of_other_classes_says_nothing_of_them(
    weights: Path, extractor: FeatureExtractor, tmp_path: Path
) -> None:
    reference = write_reference(tmp_path, extractor, weights, classes=("cat", "dog"))
    labels = torch.zeros(30, dtype=torch.int64)
    assert not ACCURACY & score(subject(pictures(30, 1), reference, weights, labels), options()).keys()


def test_the_conditions_name_the_features_and_the_reference_set(weights: Path, reference: Path) -> None:
    found = conditions(subject(pictures(3, 0), reference, weights), options())
    assert found == {"features": LABEL, "reference set": "noise train, 60 images"}


def test_a_reference_by_other_features_or_another_classifier_is_an_error(
    weights: Path, extractor: FeatureExtractor, tmp_path: Path
) -> None:
    images = pictures(30, 1)
    other = write_reference(tmp_path, extractor, weights, features="EfficientNet-Lite0")
    with pytest.raises(KinoflowError, match="has features of 'EfficientNet-Lite0', not of 'own classifier"):
        score(subject(images, other, weights), options())
    other = write_reference(tmp_path, extractor, weights, classifier="0" * 64)
    with pytest.raises(KinoflowError, match="made with another classifier"):
        score(subject(images, other, weights), options())


def test_what_is_missing_is_an_error_that_says_so(weights: Path, reference: Path) -> None:
    with pytest.raises(KinoflowError, match="data 'pixels': these are no images; remove frechet_distance"):
        score(subject(None, reference, weights), options())
    with pytest.raises(KinoflowError, match="there is no reference to compare with"):
        score(subject(pictures(30, 1), None, weights), options())
    with pytest.raises(KinoflowError, match="count = 1: a distance needs two images"):
        score(subject(pictures(1, 1), reference, weights), options())
    with pytest.raises(KinoflowError, match="neighbours = 5: there are only 4 generated images"):
        score(subject(pictures(4, 1), reference, weights), options())


@pytest.mark.parametrize(
    "features, needed, given, trained",
    [
        ("inception", ["inception/inception-2015-12-05.pt"], [], False),
        ({"name": "inception", "path": "/a/b.pt"}, [], [Path("/a/b.pt")], False),
        ("cifar_resnet", ["cifar10_resnet/resnet56-4bfd9763.th"], [], False),
        ({"name": "cifar_resnet", "depth": 20}, ["cifar10_resnet/resnet20-12fca82f.th"], [], False),
        ("efficientnet_lite0", ["efficientnet_lite0/efficientnet-lite0-57934424.pth"], [], False),
        ("classifier", [], [], True),
    ],
)
def test_the_features_say_what_they_need(features: Any, needed: list[str], given: list[Path], trained: bool) -> None:
    from pipeline.fetch.catalogue import CATALOGUE

    chosen = options(features=features)
    assert (files(chosen), inputs(chosen), classifier_of(chosen)) == (needed, given, trained)
    assert set(files(chosen)) <= CATALOGUE.keys()
    assert modules(chosen) == [f"pipeline.images.features.{chosen.features.name}"]


@pytest.mark.parametrize(
    "features, message",
    [
        ("inceptoin", "features: unknown features 'inceptoin'; did you mean 'inception'?"),
        ({"name": "cifar_resnet", "depth": 21}, "features: cifar_resnet.depth = 21: not allowed;"),
        ({"name": "classifier", "width": 9}, "features: classifier.width = 9:"),
        ({"name": "efficientnet_lite0", "side": 9}, "features: efficientnet_lite0.side = 9: unknown key"),
    ],
)
def test_wrong_features_are_found_with_the_configuration(features: Any, message: str) -> None:
    _, problems = problems_of(Options, {"features": features})
    assert [str(problem)[: len(message)] for problem in problems] == [message]


def test_the_workflow_can_ask_for_files_without_waiting_for_torch() -> None:
    name = metric.__name__
    ask = f"import sys, {name} as metric; metric.files(metric.Options()); print('torch' in sys.modules)"
    asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert asked.stdout == "False\n"
