"""The public names of `pipeline.flow`.

They are listed here and not in the package's `__init__`, because every stage depends on that file. A new public name
must not train a network again.
"""

from pipeline.flow.allowed import Allowed
from pipeline.flow.beta import Beta
from pipeline.flow.clamp import Clamp
from pipeline.flow.correctors import CORRECTORS, Corrector
from pipeline.flow.distances import Distance, EmbeddingDistance, FunctionDistance, TableDistance
from pipeline.flow.elbo import general_elbo
from pipeline.flow.errors import FlowError
from pipeline.flow.fitting import measure_errors
from pipeline.flow.grids import GRIDS, time_grid
from pipeline.flow.guidance import guided
from pipeline.flow.jumps import Correction, Jump
from pipeline.flow.likelihood import Bound, evaluate_bound
from pipeline.flow.losses import LOSSES, Loss, stratified_times
from pipeline.flow.mixture_bounds import masked_elbo, mixture_elbo
from pipeline.flow.paths import PATHS, Path, build_path, example_path
from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.paths.geodesic import GeodesicPath
from pipeline.flow.paths.kindwise import KindwisePath
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import ExactPosterior, Model
from pipeline.flow.rates import ClosedForms, Rates, rates_of
from pipeline.flow.registry import Registry
from pipeline.flow.sampler import Samples, sample
from pipeline.flow.schedulers import SCHEDULERS, Cosine, KineticOptimal, Polynomial, Scheduler
from pipeline.flow.schemes import SCHEMES, Scheme, build_scheme
from pipeline.flow.state import State
from pipeline.flow.steps import STEPS, Transition
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.vocabulary import NEVER_DATA, Vocabulary

__all__ = [
    "CORRECTORS",
    "GRIDS",
    "LOSSES",
    "NEVER_DATA",
    "PATHS",
    "SCHEDULERS",
    "SCHEMES",
    "STEPS",
    "VELOCITIES",
    "Allowed",
    "Beta",
    "Bound",
    "Clamp",
    "ClosedForms",
    "Correction",
    "Corrector",
    "Cosine",
    "Distance",
    "EmbeddingDistance",
    "ExactPosterior",
    "FlowError",
    "FunctionDistance",
    "FunctionPath",
    "GeodesicPath",
    "Jump",
    "KindwisePath",
    "KineticOptimal",
    "Loss",
    "MetricPath",
    "MixturePath",
    "Model",
    "Path",
    "Polynomial",
    "Rates",
    "Registry",
    "Samples",
    "Scheduler",
    "Scheme",
    "State",
    "TableDistance",
    "Transition",
    "Velocity",
    "Vocabulary",
    "build_path",
    "build_scheme",
    "evaluate_bound",
    "example_path",
    "general_elbo",
    "guided",
    "masked_elbo",
    "measure_errors",
    "mixture_elbo",
    "rates_of",
    "sample",
    "stratified_times",
    "time_grid",
]
