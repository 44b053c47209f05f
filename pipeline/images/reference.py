"""The images that samples are compared with: the statistics of their features, and some of the features themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from pipeline.images.extractor import FeatureExtractor
from pipeline.images.frechet import Statistics, accumulated
from pipeline.images.imagedata import ImageData, to_bytes
from pipeline.store.progress import Progress
from pipeline.store.tensor_journal import TensorJournal
from pipeline.store.tensors import read_tensors, write_tensors

KIND = "image reference"
KEPT_EVERY = 2**15  # images: they take a GPU half a minute or more; saving 100 MB for 2048 features takes 0.4 s
_STATE = "statistics"


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
        """Write the file."""
        tensors = {"mean": self.statistics.mean, "scatter": self.statistics.scatter, "neighbours": self.neighbours}
        description = {
            "n": self.statistics.n,
            "features": self.features,
            "images": self.images,
            "classes": self.classes,
            "classifier": self.classifier,
        }
        write_tensors(path, KIND, tensors, description)

    @classmethod
    def load(cls, path: Path) -> "ImageReference":
        """Read the file."""
        tensors, description = read_tensors(path, KIND)
        return cls(
            Statistics(description["n"], tensors["mean"], tensors["scatter"]),
            tensors["neighbours"],
            description["features"],
            description["images"],
            tuple(description["classes"]),
            description["classifier"],
        )


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
