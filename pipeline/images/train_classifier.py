"""The stage that trains the classifier whose features images are compared by: from images to weights and metrics.

Rows of the training loop are (split, number) of an image: no image is copied before it is seen.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Config, Training
from pipeline.errors import KinoflowError
from pipeline.images.classifier import Classifier, Description, save_classifier
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.features.classifier import Options
from pipeline.images.imagedata import ImageData, to_bytes, view
from pipeline.scoring.intervals import rate
from pipeline.store.atomic import write_json
from pipeline.store.fingerprint import fingerprint
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.history import write_history
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric

MODULE = "pipeline.images.train_classifier"
_SPLITS = ("train", "validation")
_BATCH = 250  # test images at once


@dataclass(frozen=True)
class ClassifierObjective:
    """The cross-entropy of the class of images, [B]; of training images a random view is seen."""

    data: ImageData

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        split, numbers = _SPLITS[int(rows[0, 0])], rows[:, 1].cpu()
        images, labels = self.data.images[split][numbers], self.data.labels[split][numbers]
        views = torch.randint(self.data.views, (len(rows),), generator=generator) if split == "train" else 0 * numbers
        seen = images.new_empty(len(rows), *self.data.grid)
        for number in views.unique().tolist():
            chosen = views == number
            seen[chosen] = view(images[chosen], self.data.crop, self.data.augmentation, number)
        seen = to_bytes(seen, self.data.levels)
        return functional.cross_entropy(network(seen.to(rows.device)), labels.to(rows.device), reduction="none")


def train_classifier(
    config: Config,
    experiment: str,
    *,
    images: Path,
    checkpoints: Path,
    gpus: int,
    weights: Path,
    metrics: Path,
    history: Path,
) -> None:
    """Train the classifier on the experiment's own images and write its weights, metrics (JSON) and history (CSV)."""
    chosen, data = ChosenFeatures.of(comparison_options(config, experiment).features), ImageData.load(images)
    if not chosen.trained:
        raise KinoflowError(
            f"scoring.frechet_distance.features = {chosen.name}: is not trained here; choose classifier"
        )
    if len(data.classes) < 2:
        raise KinoflowError(f"{images}: {len(data.classes)} classes, a classifier needs two; choose other features")
    options: Options = chosen.options
    description = Description(options=options, side=data.crop, channels=data.grid[2], classes=data.classes)
    training, seed = training_of(options), derive_seed(config.seed, experiment, "classifier")
    torch.manual_seed(derive_seed(seed, "weights"))
    network = Classifier(description)

    fabric = new_fabric(training, gpus, "scoring_resources.gpus")
    fabric.launch()
    fitted = fit(
        fabric,
        network,
        ClassifierObjective(data),
        _rows(data, "train"),
        _rows(data, "validation"),
        training,
        seed,
        Checkpoints(checkpoints, fingerprint(description.model_dump(mode="json") | {"seed": seed}, [images], MODULE)),
        on_checkpoint=lambda rows: write_history(history, rows),
    )
    if fabric.is_global_zero:
        save_classifier(weights, fitted.network, description)
        write_history(history, fitted.history)
        last = {key: fitted.history[-1][key] for key in ("step", "loss", "validation_loss")}
        parameters = {"parameters": sum(parameter.numel() for parameter in network.parameters())}
        write_json(metrics, last | parameters | accuracy(fitted.network, data, fabric.device))
        settings: dict[str, Any] = {"classifier": options.model_dump(mode="json")}
        write_provenance([weights, metrics, history], settings, config.seed, [images])


def training_of(options: Options) -> Training:
    """Return how the network is trained."""
    return Training(
        steps=options.steps,
        batch=options.batch,
        learning_rate=options.learning_rate,
        weight_decay=options.weight_decay,
        warmup=min(100, options.steps // 10),
        ema=0.99,
    )


@torch.no_grad()
def accuracy(network: nn.Module, data: ImageData, device: torch.device) -> dict[str, float]:
    """Return how many test images are told right, in percent, with a 95 % interval."""
    network.eval()
    right, total = 0, 0
    for images, labels in data.parts("test"):
        for part, classes in zip(images.split(_BATCH), labels.split(_BATCH), strict=True):
            told = network(to_bytes(part, data.levels).to(device)).argmax(dim=-1).cpu()
            right, total = right + int((told == classes).sum()), total + len(part)
    return rate("test_accuracy", right, total)


def _rows(data: ImageData, split: str) -> Tensor:
    numbers = torch.arange(len(data.images[split]))
    return torch.stack([torch.full_like(numbers, _SPLITS.index(split)), numbers], dim=1)
