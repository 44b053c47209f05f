"""The configuration: one frozen, typed tree. Every unknown key, wrong type and impossible value is an error."""

from pipeline.config.base import REFERENCES, Limits, Name, Resources, Strict, TrainingResources
from pipeline.config.choices import (
    Choice,
    DataChoice,
    FigureChoice,
    LossChoice,
    ModelChoice,
    NameAlone,
    NestedChoice,
    PathChoice,
    StepChoice,
    VelocityChoice,
)
from pipeline.config.experiments import Config, Experiment, Fetching
from pipeline.config.modalities import Crystals, Relaxation, Tokenizer, TokenizerLoss, TokenizerNetwork
from pipeline.config.runs import Corrector, Run, Sampling, Search, Sweep, Training

__all__ = [
    "REFERENCES",
    "Choice",
    "Config",
    "Corrector",
    "Crystals",
    "DataChoice",
    "Experiment",
    "Fetching",
    "FigureChoice",
    "Limits",
    "LossChoice",
    "ModelChoice",
    "Name",
    "NameAlone",
    "NestedChoice",
    "PathChoice",
    "Relaxation",
    "Resources",
    "Run",
    "Sampling",
    "Search",
    "StepChoice",
    "Strict",
    "Sweep",
    "Tokenizer",
    "TokenizerLoss",
    "TokenizerNetwork",
    "Training",
    "TrainingResources",
    "VelocityChoice",
]
