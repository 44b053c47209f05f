"""The features that the images of an experiment are compared by: which ones were chosen, and what they need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import Choice, Config
from pipeline.config.chosen import chosen
from pipeline.config.plugins import FEATURES, METRICS
from pipeline.errors import KinoflowError

if TYPE_CHECKING:  # names of types; what is computed with is imported where it is used
    import torch

    from pipeline.images.extractor import FeatureExtractor

METRIC = "frechet_distance"


class FeatureChoice(Choice):
    """Features of images: a file in `pipeline/images/features`."""


@dataclass(frozen=True)
class ChosenFeatures:
    """A module of :mod:`pipeline.images.features` with its options."""

    name: str
    module: Any
    options: Any

    @classmethod
    def of(cls, choice: FeatureChoice) -> ChosenFeatures:
        """Return the features that were chosen; a wrong name or option is a ValueError that says so."""
        return cls(choice.name, *chosen(FEATURES, choice))

    @property
    def label(self) -> str:
        """What the tables call them."""
        label: str = self.module.label(self.options)
        return label

    @property
    def files(self) -> list[str]:
        """The names in the catalogue of the files that the network is read from."""
        return list(self.module.files(self.options))

    @property
    def inputs(self) -> list[Path]:
        """The files of the user that the network is read from."""
        return list(self.module.inputs(self.options)) if hasattr(self.module, "inputs") else []

    @property
    def trained(self) -> bool:
        """Whether the network is trained by the workflow, on the experiment's own images."""
        return bool(getattr(self.module, "TRAINED", False))

    def load(self, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
        """Return the network at work; an error with the ways to have one if it is not there."""
        extractor: FeatureExtractor = self.module.load(self.options, cache=cache, classifier=classifier, device=device)
        return extractor


def comparison_options(config: Config, experiment: str) -> Any:
    """Return the options of the metric that compares images; an error if the experiment has none."""
    scoring = config.experiments[experiment].scoring
    if METRIC not in scoring:
        raise KinoflowError(f"experiments.{experiment}.scoring: has no {METRIC}, so no images are compared; add it")
    return METRICS.options(METRIC, scoring[METRIC])
