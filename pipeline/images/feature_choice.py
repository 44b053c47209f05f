"""The features chosen for comparing an experiment's images, and what they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pipeline.config import Config, NestedChoice
from pipeline.config.contracts import FeaturesPlugin
from pipeline.config.plugins import FEATURES, METRICS, Chosen
from pipeline.errors import KinoflowError

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch

    from pipeline.images.extractor import FeatureExtractor

METRIC = "frechet_distance"
_WAYS = """or set scoring.frechet_distance.features to one of
  {name: inception, path: /path/to/file.pt}   the usual network, as a TorchScript file on this machine
  {name: cifar_resnet}                        a classifier of CIFAR-10 (3 MB)
  {name: efficientnet_lite0}                  a classifier of ImageNet that comes from a package registry (19 MB)
  {name: classifier}                          a small one that is trained on the experiment's own images"""


class FeatureChoice(NestedChoice):
    """Features of images: a file in `pipeline/images/features`."""

    SOURCE = "pipeline.config.plugins.FEATURES"


class ChosenFeatures(Chosen[FeaturesPlugin]):
    """Features with their options."""

    @classmethod
    def of(cls, choice: FeatureChoice) -> Self:
        """Return the features that were chosen; a wrong name or option is a ValueError."""
        return cls(**vars(FEATURES.chosen(choice)))

    @property
    def label(self) -> str:
        """What the tables call them."""
        return self.plugin.label(self.options)

    @property
    def trained(self) -> bool:
        """Whether the workflow trains the network, on the experiment's own images."""
        return self.plugin.TRAINED

    def load(self, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
        """Return the loaded network; if it is not available, the error lists the alternatives."""
        return self.plugin.load(self.options, cache=cache, classifier=classifier, device=device)


def comparison_options(config: Config, experiment: str) -> Any:
    """Return the options of the metric that compares images; an error if the experiment has none."""
    scoring = config.experiments[experiment].scoring
    if METRIC not in scoring:
        raise KinoflowError(f"experiments.{experiment}.scoring: has no {METRIC}, so no images are compared; add it")
    return METRICS.options(METRIC, scoring[METRIC])


class FeatureError(KinoflowError):
    """Features that are not available: which ones, why, and what to choose instead."""

    def __init__(self, features: str, reason: str) -> None:
        super().__init__(f"scoring.frechet_distance.features = {features}: {reason}; {_WAYS}")


def fetched_file(features: str, cache: Path, name: str, otherwise: str = "") -> Path:
    """Return where a file of the catalogue lies; an error with the command that fetches it if it is not there."""
    path = cache / name
    if not path.is_file():
        fix = f"run `python -m pipeline fetch {name.partition('/')[0]} --cache {cache}`{otherwise}"
        raise FeatureError(features, f"{path}: no such file; {fix}")
    return path
