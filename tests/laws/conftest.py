"""Every registered path and velocity, with one kind of tokens or several, and a path that only these tests know."""

import pytest
import torch
from hypothesis import HealthCheck, settings
from rate_matrices import VOCABULARIES
from torch import Tensor

from pipeline.flow.paths import PATHS, Path, example_path
from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.vocabulary import Vocabulary

settings.register_profile(
    "laws", max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("laws")


@PATHS.register("a path of these tests")
def own_path(vocabulary: Vocabulary) -> Path:
    """A path that only these tests know: a tilted bump that sharpens and drifts to x1 along the tokens' numbers."""
    targets = vocabulary.targets(torch.arange(vocabulary.kinds))

    def log_prob(x1: Tensor, t: Tensor) -> Tensor:
        number = torch.arange(vocabulary.size, dtype=torch.float64)
        offset = number - x1[..., None]
        tilt = torch.sin(3 * t)[..., None] * torch.cos(number) * (1 - t)[..., None]
        sharpness = (t**2 / (1 - t) ** 1.5)[..., None]
        logits = tilt - sharpness * (offset.abs() + 0.3 * offset**2) + 0.1 * number
        inside = targets[vocabulary.kinds_of(x1)]
        return torch.log_softmax(torch.where(inside, logits, -torch.inf), dim=-1)

    return FunctionPath(vocabulary, log_prob)


@pytest.fixture(params=VOCABULARIES)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return VOCABULARIES[request.param]


@pytest.fixture(params=PATHS.names())
def path(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Path:
    return example_path(request.param, vocabulary)


@pytest.fixture(params=VELOCITIES.names())
def velocity(request: pytest.FixtureRequest) -> Velocity:
    return VELOCITIES.get(request.param)
