"""The expected evaluations of the network for a sample are those that sampling makes."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.config import Corrector, PathChoice, Sampling
from pipeline.config.choices import SchemeChoice
from pipeline.crystals.tokens import layout, length_of, vocabulary
from pipeline.flow.paths import example_path
from pipeline.flow.sampler import sample
from pipeline.flow.vocabulary import Vocabulary
from pipeline.inspect.plan.shapes import Shape
from pipeline.inspect.plan.visits import evaluations

ROWS: dict[str, int | None] = {"train": 10}
TEXT = Shape(Vocabulary.single(5, specials=1), 8, ROWS, (0,) * 8)
CRYSTALS = Shape(vocabulary(), length_of(3), ROWS, tuple(layout(3, 3).tolist()))
STEPS = 20


def visits(path: PathChoice, shape: Shape, count: int) -> Tensor:
    """Return how often sampling evaluates a network that finds all tokens equally likely, [N]."""
    kinds = torch.tensor(shape.positions).expand(count, -1)
    drawn = sample(
        lambda x, t: torch.zeros(*x.shape, shape.vocabulary.size),
        example_path(path.name, shape.vocabulary, **path.options),
        kinds=kinds,
        steps=STEPS,
        way="events",
        generator=torch.Generator().manual_seed(0),
    )
    return drawn.visits.double()


@pytest.mark.parametrize("shape, count", [(TEXT, 2000), (CRYSTALS, 200)], ids=["text", "crystals"])
@pytest.mark.parametrize(
    "path",
    [
        {"name": "mask", "scheduler": "linear"},
        {"name": "mask", "scheduler": "kinetic_optimal"},
        {"name": "uniform", "scheduler": "kinetic_optimal"},
        {"name": "statistics", "scheduler": "kinetic_optimal", "beta_0": 1024},
    ],
    ids=["mask linear", "mask", "uniform", "statistics"],
)
def test_expected_evaluations_are_the_mean_of_those_made(path: dict[str, Any], shape: Shape, count: int) -> None:
    choice = PathChoice.model_validate(path)
    made, expected = visits(choice, shape, count), evaluations(choice, Sampling(steps=STEPS), shape)
    assert expected < STEPS
    assert abs(float(made.mean()) - expected) < 5 * float(made.std()) / count**0.5


@pytest.mark.parametrize(
    "path, changes",
    [
        ({"name": "mask"}, {"way": "steps"}),
        ({"name": "mask"}, {"corrector": Corrector(weight=1.0)}),
        ({"name": "mask"}, {"searched": True}),
        ({"name": "metric"}, {}),
    ],
    ids=["steps", "corrector", "searched", "metric"],
)
def test_where_events_are_not_possible_every_step_is_an_evaluation(
    path: dict[str, Any], changes: dict[str, Any]
) -> None:
    sampling = Sampling(count=1, steps=STEPS).model_copy(update=changes)
    assert evaluations(PathChoice.model_validate(path), sampling, TEXT) == STEPS


def test_more_steps_than_tokens_hardly_add_evaluations_on_a_mask_path() -> None:
    path = PathChoice.model_validate({"name": "mask", "scheduler": "linear"})
    found = [evaluations(path, Sampling(count=1, steps=steps), TEXT) for steps in (8, 100, 10_000)]
    assert found[0] < found[1] < found[2] < TEXT.length
    assert found[2] == pytest.approx(TEXT.length, abs=0.01)


def test_a_scheme_makes_its_evaluations_in_every_step() -> None:
    path = PathChoice.model_validate({"name": "mask"})
    for scheme, each in (("confidence", 1), ("theta_trapezoidal", 2)):
        sampling = Sampling(count=1, steps=STEPS, scheme=SchemeChoice(name=scheme))
        assert evaluations(path, sampling, TEXT) == each * STEPS
