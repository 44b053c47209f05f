"""The bound for text: the estimator is exact for masks, and a network of scores gets the bound of its posterior."""

import math

import pytest
import torch
from torch import Tensor

from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.paths import Path, example_path
from pipeline.flow.posterior import ExactPosterior, Model, constrain
from pipeline.flow.score import log_scores, negative_score_entropy, posterior_logits, posterior_to_score
from pipeline.flow.vocabulary import Vocabulary

VOCABULARY = Vocabulary.single(3, specials=1)
SEQUENCES = torch.tensor([[0, 0], [1, 2], [2, 1], [2, 2], [0, 1]])
PROBABILITIES = torch.tensor([0.4, 0.25, 0.2, 0.1, 0.05]).double()
COUNT = 3000


def score_network(path: Path, posterior: Model) -> Model:
    """Return a network whose logits stand for the exact scores."""

    def network(x: Tensor, t: Tensor) -> Tensor:
        kinds, times = torch.zeros_like(x), t.double()[:, None].expand(x.shape)
        logits = constrain(path, posterior(x, t), x, kinds)
        scores = posterior_to_score(path, logits.softmax(-1), kinds, x, times)
        offset = log_scores(path, torch.zeros_like(scores), times)
        return scores.clamp(min=1e-300).log() - offset

    return network


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("scheduler", ["linear", "cubic", "kinetic_optimal"])
def test_the_evaluated_bound_of_a_mask_with_the_exact_posterior_is_log_q(scheduler: str, row: int) -> None:
    path = example_path("mask", VOCABULARY, scheduler=scheduler)
    model = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    generator = torch.Generator().manual_seed(row)
    bound = evaluate_bound(model, path, SEQUENCES[row].expand(COUNT, 2), points=64, generator=generator)
    error = float(bound.standard_error.square().sum().sqrt()) / COUNT
    left_out = 5e-4  # the integral above `end`
    assert abs(float(bound.log_prob.mean()) - math.log(float(PROBABILITIES[row]))) < 4 * error + left_out


@pytest.mark.parametrize("scheduler", ["linear", "kinetic_optimal"])
def test_a_network_of_exact_scores_has_the_bound_of_the_exact_posterior_under_a_mask(scheduler: str) -> None:
    path = example_path("mask", VOCABULARY, scheduler=scheduler)
    exact = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    bound = evaluate_bound(
        score_network(path, exact),
        path,
        SEQUENCES.repeat(600, 1),
        points=64,
        generator=torch.Generator().manual_seed(1),
        integrand=negative_score_entropy,
    )
    error = float(bound.standard_error.square().sum().sqrt()) / COUNT
    assert abs(float(bound.log_prob.mean()) - float(PROBABILITIES.log().mean())) < 4 * error + 5e-4


@pytest.mark.parametrize("name", ["uniform", "statistics"])
def test_the_bound_of_scores_lies_below_the_likelihood(name: str) -> None:
    path = example_path(name, VOCABULARY, scheduler="linear")
    exact = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    bound = evaluate_bound(
        score_network(path, exact),
        path,
        SEQUENCES.repeat(300, 1),
        points=64,
        generator=torch.Generator().manual_seed(2),
        integrand=negative_score_entropy,
    )
    error = float(bound.log_prob.std()) / 1500**0.5
    assert float(bound.log_prob.mean()) < float(PROBABILITIES.log().mean()) + 3 * error


@pytest.mark.parametrize("name", ["mask", "uniform", "statistics"])
def test_the_posterior_of_a_network_of_scores_is_the_one_that_its_scores_were_made_of(name: str) -> None:
    path = example_path(name, VOCABULARY, scheduler="cubic")
    exact = ExactPosterior(path, SEQUENCES, PROBABILITIES)
    generator = torch.Generator().manual_seed(3)
    t = torch.rand(200, generator=generator).double() * 0.9 + 0.05
    x = path.sample(SEQUENCES.repeat(40, 1), t, generator)
    times, kinds = t[:, None].expand(x.shape), torch.zeros_like(x)
    logits = score_network(path, exact)(x, t).scatter(-1, x[..., None], 3.0)  # the loss ignores this one
    back = posterior_logits(path, logits, x, times)
    expected = constrain(path, exact(x, t), x, kinds).softmax(-1)
    assert torch.allclose(constrain(path, back, x, kinds).softmax(-1), expected, atol=1e-6)


def test_scores_at_the_beginning_give_some_posterior() -> None:
    path = example_path("uniform", VOCABULARY, scheduler="linear")
    x = torch.tensor([[0, 1]])
    logits = posterior_logits(path, torch.zeros(1, 2, 4), x, torch.zeros(1, 2).double())
    assert bool(constrain(path, logits, x, torch.zeros_like(x)).softmax(-1).isfinite().all())
    assert bool((logits[..., 3] == -torch.inf).all())  # the mask is no data


def test_a_network_of_scores_first_guesses_a_uniform_posterior_under_a_mask() -> None:
    path = example_path("mask", VOCABULARY, scheduler="linear")
    t = torch.full((1, 2), 0.25).double()
    scores = log_scores(path, torch.zeros(1, 2, 4).double(), t).exp()
    assert torch.allclose(scores[..., :3].sum(-1), torch.tensor(0.25 / 0.75).double())
