"""The configuration: one frozen, typed tree. Every unknown key, wrong type and impossible value is an error."""

from pipeline.config.base import PREDICTED, REFERENCES, Limits, Name, Resources, Strict, TrainingResources
from pipeline.config.choices import (
    Choice,
    DataChoice,
    EnergyModelChoice,
    LossChoice,
    ModelChoice,
    NameAlone,
    NestedChoice,
    PathChoice,
    StepChoice,
    VelocityChoice,
)
from pipeline.config.experiments import (
    Config,
    Crystals,
    Experiment,
    Relaxation,
    Tokenizer,
    TokenizerLoss,
    TokenizerNetwork,
)
from pipeline.config.fetching import Fetching
from pipeline.config.oracle import Oracle, OracleRows
from pipeline.config.prediction import Prediction
from pipeline.config.runs import Corrector, Run, Sampling, Training
