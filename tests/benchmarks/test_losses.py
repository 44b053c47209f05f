"""Losses from terms of each row equal the formulas with rows of K probabilities, and so do their gradients."""

import pytest
import torch
from torch import Tensor

from benchmarks.losses import CASES, OF_ROWS, answers
from pipeline.flow import chunks
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import example_path
from pipeline.flow.vocabulary import Vocabulary

ONE_KIND = Vocabulary.single(6, specials=1)
THREE_KINDS = Vocabulary([0, 0, 0, 1, 1, 1, 2, -1])  # the last one is a pad
SCHEDULERS = [
    (loss, path, scheduler)
    for loss, path in [*CASES, ("mixture_elbo", "mask"), ("score_entropy", "statistics"), ("cross_entropy", "uniform")]
    for scheduler in ("linear", "kinetic_optimal")
    if (loss, path, scheduler) != ("score_entropy", "statistics", "kinetic_optimal")  # its clock depends on the token
]


@pytest.mark.parametrize("vocabulary", [ONE_KIND, THREE_KINDS], ids=["one kind", "three kinds"])
@pytest.mark.parametrize(("loss", "name", "scheduler"), SCHEDULERS)
def test_values_and_gradients_are_those_of_the_formula_with_rows(
    loss: str, name: str, scheduler: str, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = example_path(name, vocabulary, scheduler=scheduler)
    generator = torch.Generator().manual_seed(0)
    data = (vocabulary.kind_of.values >= 0).nonzero().squeeze(-1)
    x1 = data[torch.randint(len(data), (40, 5), generator=generator)]
    t = torch.rand(40, generator=generator, dtype=torch.float64) * 0.98 + 0.01
    x_t = path.sample(x1, t, generator)
    logits = 3 * torch.randn(40, 5, vocabulary.size, generator=generator, dtype=torch.float64)
    weights = torch.randn(40, 5, generator=generator, dtype=torch.float64)
    monkeypatch.setattr(chunks, "MEMORY_BUDGET", 64 * vocabulary.size * 7)  # chunks of 7 rows

    def both(function: object, **given: Tensor) -> tuple[Tensor, Tensor]:
        asked = logits.clone().requires_grad_()
        values = function(path, asked, x1, x_t, t)  # type: ignore[operator]
        return values.detach(), torch.autograd.grad((values * weights).sum(), asked)[0]

    for ours, expected in zip(both(LOSSES.get(loss)), both(OF_ROWS[loss]), strict=True):
        assert torch.allclose(ours, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("loss", "name"), CASES)
def test_losses_of_some_tokens_are_those_of_all(loss: str, name: str) -> None:
    scheduler = "kinetic_optimal" if name == "statistics" else "linear"
    path, generator = example_path(name, ONE_KIND, scheduler=scheduler), torch.Generator().manual_seed(0)
    x1 = torch.randint(6, (8, 5), generator=generator)
    t = torch.rand(8, generator=generator, dtype=torch.float64) * 0.9 + 0.05
    x_t, logits = path.sample(x1, t, generator), torch.randn(8, 5, 7, generator=generator, dtype=torch.float64)
    at = torch.tensor([0, 3, 4, 11, 12, 30, 39])
    some = LOSSES.get(loss)(path, logits.flatten(0, 1)[at], x1.flatten()[at], x_t.flatten()[at], t, of=at // 5)
    assert torch.allclose(some, LOSSES.get(loss)(path, logits, x1, x_t, t).flatten()[at], rtol=1e-12, atol=1e-12)


def test_both_ways_are_compared_for_each_loss() -> None:
    found = answers(sizes=((12, 2, 3),))
    assert [answer.case for answer in found] == [f"{loss}, {path}, K = 12" for loss, path in CASES]
    assert all(answer.ratio > 0 for answer in found)
