"""How far samples of images are from the training images, by the features of a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pipeline.config import Fetching, NameAlone, Strict
from pipeline.errors import KinoflowError
from pipeline.images.feature_choice import ChosenFeatures, FeatureChoice
from pipeline.store.seeds import derive_seed

if TYPE_CHECKING:  # for types only: functions import what they need when called
    from torch import Tensor

    from pipeline.images.extractor import FeatureExtractor
    from pipeline.images.frechet import ImageReference
    from pipeline.scoring.subject import Subject
    from pipeline.store.tensor_journal import TensorJournal

HEADLINE = "frechet_distance"
PARTS = 10  # of the jackknife
KEPT_TOGETHER = 2**12  # samples whose features are saved together, to resume after
_AGAIN = "describe the reference again"


class Options(Strict):
    """What images are compared by, and how many of them."""

    features: Annotated[FeatureChoice, NameAlone] = Field(
        FeatureChoice(name="inception"), description="network whose features images are compared by, and its options"
    )
    neighbours: int = Field(5, ge=1, description="nearest neighbours of precision, recall, density and coverage")
    compared: int = Field(
        10_000, ge=2, description="images at most, of the samples and of the reference, for these four"
    )
    batch: int = Field(64, ge=1, description="images that the network sees at once; does not change the figures")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the Fréchet distance of all samples from all training images, its error, and the other scores."""
    reference = checked_reference(subject.files.get("image_reference"), subject.files.get("classifier"), options)
    extractor = ChosenFeatures.of(options.features).load(
        cache=subject.cache or Path(Fetching().cache), classifier=subject.files.get("classifier"), device=subject.device
    )
    pictures, labels = _pictures(subject), subject.samples.labels
    return compared(pictures, labels, reference, extractor, options, subject.seed, subject.finished_tensors)


def compared(
    pictures: Tensor,
    labels: Tensor | None,
    reference: ImageReference,
    extractor: FeatureExtractor,
    options: Options,
    seed: int,
    finished: TensorJournal | None = None,
) -> dict[str, float]:
    """Return the scores of pictures uint8[N, H, W, C], for which classes `labels` [N] may have been requested.

    Do not compare scores of different features, reference sets or numbers of samples. The distance is too large at
    finite n (see :mod:`pipeline.images.frechet`), above all with fewer samples than features. Precision, recall,
    density and coverage are fractions, from at most `compared` images. `class_accuracy` is the percentage of samples
    that the network assigns to the requested class; only classifiers of these classes give it. Features in the journal
    `finished` are not computed again.
    """
    import torch

    from pipeline.images.neighbours import neighbour_scores

    # In a random order: the samples may be sorted by class.
    generator = torch.Generator().manual_seed(derive_seed(seed, "frechet_distance"))
    order = torch.randperm(len(pictures), generator=generator)
    features = _features(extractor, pictures, order, options.batch, finished)
    return {
        **_distance(features, reference),
        **neighbour_scores(reference.neighbours[: options.compared], features[: options.compared], options.neighbours),
        **({} if labels is None else _class_accuracy(extractor, features, labels[order], reference.classes)),
    }


def conditions(subject: Subject, options: Options) -> dict[str, str]:
    """Return the features and the reference set."""
    reference = checked_reference(subject.files.get("image_reference"), subject.files.get("classifier"), options)
    return {"features": reference.features, "reference set": reference.images}


def files(options: Options) -> list[str]:
    """Return the catalogue names of the files that the network is read from."""
    return ChosenFeatures.of(options.features).files


def inputs(options: Options) -> list[Path]:
    """Return the user's files that the network is read from."""
    return ChosenFeatures.of(options.features).inputs


def classifier_of(options: Options) -> bool:
    """Return whether the features are those of a classifier that the workflow trains."""
    return ChosenFeatures.of(options.features).trained


def modules(options: Options) -> list[str]:
    """Return the module of the features, which is loaded by name."""
    return ChosenFeatures.of(options.features).modules


def _pictures(subject: Subject) -> Tensor:
    from pipeline.images.pictures import Pictures

    if "pictures" not in subject.files:
        name = subject.data.origin.get("name")
        raise KinoflowError(f"data {name!r}: these are no images; remove frechet_distance from `scoring`")
    pictures = Pictures.load(subject.files["pictures"]).images
    if len(pictures) < 2:
        raise KinoflowError(f"sampling.count = {len(pictures)}: a distance needs two images; draw more")
    return pictures


def checked_reference(path: Path | None, classifier: Path | None, options: Options) -> ImageReference:
    """Return the reference; raise unless it was made with the chosen features and, if trained, this classifier."""
    from pipeline.images.frechet import ImageReference
    from pipeline.store.provenance import known_hash

    chosen = ChosenFeatures.of(options.features)
    if path is None:
        raise KinoflowError("frechet_distance: there is no reference to compare with; describe it, and give the file")
    reference = ImageReference.load(path)
    if reference.features != chosen.label:
        raise KinoflowError(f"{path}: has features of {reference.features!r}, not of {chosen.label!r}; {_AGAIN}")
    if chosen.trained and classifier is not None and known_hash(classifier) != reference.classifier:
        raise KinoflowError(f"{path}: made with another classifier than {classifier}; {_AGAIN}")
    return reference


def _features(
    extractor: FeatureExtractor, pictures: Tensor, order: Tensor, batch: int, finished: TensorJournal | None
) -> Tensor:
    """Return the features of images uint8[N, H, W, C], in the given `order`, [N, F]."""
    from functools import partial

    import torch

    from pipeline.store.progress import Progress

    found, done = torch.empty(len(order), extractor.width), 0
    with Progress("features of the samples", len(order), unit="image") as progress:

        def computed(part: Tensor, before: int) -> Tensor:
            features = []
            for numbers in part.split(batch):
                features.append(extractor.features(pictures[numbers]))
                before += len(numbers)
                progress.advance(before)
            return torch.cat(features)

        for part in order.split(batch * max(1, KEPT_TOGETHER // batch)):  # the batches are the same as without parts
            compute = partial(computed, part, done)
            features = finished.once(f"frechet_distance-{done}", compute) if finished else compute()
            found[done : done + len(part)] = features
            done += len(part)
    return found


def _distance(features: Tensor, reference: ImageReference) -> dict[str, float]:
    """Return the distance of features [N, F] in a random order and, if there are enough of them, its error."""
    from functools import reduce

    from pipeline.images.frechet import Statistics, frechet_distance, frechet_error

    parts = [Statistics.of(part) for part in features.tensor_split(PARTS if len(features) >= 2 * PARTS else 1)]
    scores = {HEADLINE: frechet_distance(reduce(Statistics.merged, parts), reference.statistics)}
    if len(parts) > 1:
        scores["frechet_distance_error"] = frechet_error(parts, reference.statistics)
    return scores


def _class_accuracy(
    extractor: FeatureExtractor, features: Tensor, labels: Tensor, classes: tuple[str, ...]
) -> dict[str, float]:
    """Return the share of samples that are of the requested class, in percent, with a 95 % interval."""
    from pipeline.scoring.intervals import rate

    asked = labels < len(classes)  # the label after the last class means no class
    if extractor.classes != classes or not bool(asked.any()):
        return {}
    told = extractor.classes_of(features[asked])
    return {} if told is None else rate("class_accuracy", int((told == labels[asked]).sum()), int(asked.sum()))
