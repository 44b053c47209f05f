"""The Fréchet distance between two sets of features, as if both were Gaussian (M. Heusel et al., 2017).

It takes the statistics of both. Those of the images that samples are compared with are kept in a file, with some of the
features themselves. Letters in shapes: N images, F features. Everything is computed in float64.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.images.extractor import FeatureExtractor
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.store.progress import Progress
from pipeline.store.tensor_journal import TensorJournal
from pipeline.store.tensors import read_tensors, write_tensors

_AT_ONCE = 4096  # rows of features that are added at once
KIND = "image reference"
KEPT_EVERY = 2**15  # images: they take a GPU half a minute or more; saving 100 MB for 2048 features takes 0.4 s
_STATE = "statistics"
_DESCRIPTION = ("features", "images", "classes", "classifier")  # where the features come from


@dataclass(frozen=True)
class Statistics:
    """How many features there are, their mean [F], and their scatter [F, F]: the sum of (x - mean)(x - mean)^T."""

    n: int
    mean: Tensor
    scatter: Tensor

    @classmethod
    def of(cls, features: Tensor) -> Statistics:
        """Return the statistics of features [N, F]."""
        values = features.double()
        mean = values.mean(dim=0)
        deviations = values - mean
        return cls(len(values), mean, deviations.T @ deviations)

    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets together (T. Chan et al., 1983), without cancellation of large numbers."""
        n, apart = self.n + other.n, other.mean - self.mean
        scatter = self.scatter + other.scatter + torch.outer(apart, apart) * (self.n * other.n / n)
        return Statistics(n, self.mean + apart * (other.n / n), scatter)

    @property
    def covariance(self) -> Tensor:
        """The unbiased covariance [F, F]."""
        if self.n < 2:
            raise KinoflowError(f"n = {self.n}: a covariance needs two images or more; draw more samples")
        return self.scatter / (self.n - 1)

    @cached_property
    def root(self) -> Tensor:
        """A matrix R [F, r] with R R^T = covariance, where r is the rank of the covariance.

        Directions whose variance is only rounding are left out. There are some if there are fewer images than features.
        """
        variances, directions = torch.linalg.eigh(self.covariance)
        smallest = variances[-1] * len(variances) * torch.finfo(variances.dtype).eps
        kept = variances > smallest.clamp(min=0)
        return directions[:, kept] * variances[kept].sqrt()


def statistics_of(batches: Iterable[Tensor]) -> Statistics:
    """Return the statistics of features that come in one or more batches [B, F]."""
    return deque(accumulated(batches), maxlen=1).pop()


def accumulated(batches: Iterable[Tensor], before: Statistics | None = None) -> Iterator[Statistics]:
    """Yield the statistics of all features so far, whenever some are added; first those `before`, if any.

    They cover all batches taken so far: resuming from any of them gives the same result as never stopping.
    """
    return accumulate(map(Statistics.of, _larger(batches)), Statistics.merged, initial=before)


def _larger(batches: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield the batches joined into larger ones: a merge costs as much as several thousand rows."""
    waiting: list[Tensor] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield torch.cat(waiting)
            waiting = []
    if waiting:
        yield torch.cat(waiting)


def frechet_distance(first: Statistics, second: Statistics) -> float:
    """Return |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), for means m and covariances S.

    The trace of the square root is the sum of the singular values of R1^T R2 for any R with S = R R^T. This takes no
    root of a product of covariances, and they may be singular. The distance of finite sets is too large by about 1 / n.
    With fewer images than features, this excess dominates. Compare only distances with the same n.
    """
    if first.mean.shape != second.mean.shape:
        sizes = f"{len(first.mean)} and {len(second.mean)} features"
        raise KinoflowError(f"{sizes} cannot be compared; take both from the same network")
    apart = (first.mean - second.mean).square().sum()
    spread = first.covariance.trace() + second.covariance.trace()
    common = torch.linalg.svdvals(first.root.T @ second.root).sum()
    return max(0.0, float(apart + spread - 2 * common))


def frechet_error(parts: Sequence[Statistics], reference: Statistics) -> float:
    """Return the standard error of the distance from all parts together to the reference, by a jackknife over parts.

    The parts are random and of nearly the same size; each is left out in turn. The error says how much the distance
    would differ for other samples of the same run. It says nothing about the excess at small n, which they all share.
    It is too large, by up to a factor of two, if both sets come from one distribution.
    """
    left = [
        frechet_distance(reduce(Statistics.merged, [*parts[:number], *parts[number + 1 :]]), reference)
        for number in range(len(parts))
    ]
    mean = sum(left) / len(left)
    return math.sqrt((len(left) - 1) / len(left) * sum((value - mean) ** 2 for value in left))


@dataclass(frozen=True)
class ImageReference:
    """Statistics of all features, a random choice of features [M, F], and where they come from.

    `features` is the label of the network, `images` the name of the set, `classes` the names of its classes. If the
    workflow trained the network, `classifier` is the checksum of its weights.
    """

    statistics: Statistics
    neighbours: Tensor
    features: str
    images: str
    classes: tuple[str, ...]
    classifier: str | None

    def save(self, path: Path) -> None:
        tensors = {"mean": self.statistics.mean, "scatter": self.statistics.scatter, "neighbours": self.neighbours}
        description = {"n": self.statistics.n} | {name: getattr(self, name) for name in _DESCRIPTION}
        write_tensors(path, KIND, tensors, description)

    @classmethod
    def load(cls, path: Path) -> ImageReference:
        tensors, description = read_tensors(path, KIND)
        statistics = Statistics(description["n"], tensors["mean"], tensors["scatter"])
        said = {name: description[name] for name in _DESCRIPTION} | {"classes": tuple(description["classes"])}
        return cls(statistics, tensors["neighbours"], **said)


def described(
    data: ImageData,
    extractor: FeatureExtractor,
    compared: int,
    batch: int,
    seed: int,
    finished: TensorJournal | None = None,
) -> tuple[Statistics, Tensor]:
    """Return the statistics of all views of the training images, and features of `compared` of them, [M, F].

    Features in the journal `finished` are not computed again.
    """
    total = data.views * len(data.images["train"])
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.zeros(total, dtype=torch.bool)
    chosen[torch.randperm(total, generator=generator)[:compared]] = True
    found = finished.kept(_STATE) if finished else None
    before = Statistics(int(found["n"]), found["mean"], found["scatter"]) if found else None
    kept = [found["neighbours"]] if found else []
    first = last = before.n if before else 0

    def batches() -> Iterator[Tensor]:
        done = first
        with Progress("features of the reference", total, done, unit="image") as progress:
            for images, _ in data.training_parts(passed=done):
                for part in images.split(batch):
                    features = extractor.features(to_bytes(part, data.levels))
                    kept.append(features[chosen[done : done + len(part)]])
                    done += len(part)
                    progress.advance(done)
                    yield features

    for statistics in accumulated(batches(), before):
        if finished and statistics.n - last >= KEPT_EVERY:
            state = {"n": torch.tensor(statistics.n), "mean": statistics.mean, "scatter": statistics.scatter}
            kept[:] = [torch.cat(kept)]
            finished.keep(_STATE, state | {"neighbours": kept[0]})
            last = statistics.n
    return statistics, torch.cat(kept)


def name_of(data: ImageData) -> str:
    """Return what the tables call the reference set."""
    images = f"{len(data.images['train']):,} images"
    return f"{data.origin['name']} train, " + (images if data.views == 1 else f"{data.views} views of {images}")
