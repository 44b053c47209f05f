"""The configuration: one frozen, typed tree. Every unknown key, wrong type and impossible value is an error."""

from pipeline.config.base import REFERENCES, Limits, Name, Resources, Strict, TrainingResources
from pipeline.config.choices import (
    Choice,
    DataChoice,
    EnergyModelChoice,
    LossChoice,
    ModelChoice,
    NameAlone,
    NestedChoice,
    PathChoice,
    VelocityChoice,
)
from pipeline.config.experiments import (
    Config,
    Crystals,
    Experiment,
    Fetching,
    Relaxation,
    Tokenizer,
    TokenizerLoss,
    TokenizerNetwork,
)
from pipeline.config.runs import Corrector, Run, Sampling, Training
