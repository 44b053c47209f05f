"""What training minimises does not depend on which logits are computed, nor on how many pads a batch holds."""

import pytest
import torch
from random_crystals import VOCABULARY, random_crystals, stirred
from torch import Tensor, nn

from pipeline.crystals.networks import crystal_autoregressive, crystal_dit
from pipeline.crystals.tokens import length_of
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import example_path
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.objective import FlowObjective, NextTokenObjective
from pipeline.text.networks import text_dit

WORDS = Vocabulary([0] * 12 + [-1])
RARE = {"beta_0": 1024.0, "counts": torch.tensor([0.0, 0, 0, *range(3, 12), 0])}  # most tokens are not of the source
CASES = {
    "mask": ("mask", {}, "mixture_elbo"),
    "mask, cubic": ("mask", {"scheduler": "cubic"}, "cross_entropy"),
    "scores": ("mask", {}, "score_entropy"),
    "masked": ("mask", {}, "masked_elbo"),
    "rare tokens": ("statistics", RARE, "mixture_elbo"),
}


def evaluated(objective: FlowObjective, network: nn.Module, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
    losses = objective(network, rows, torch.Generator().manual_seed(0))
    gradients = torch.autograd.grad(losses.mean(), list(network.parameters()), allow_unused=True)
    return losses.detach(), [gradient for gradient in gradients if gradient is not None]


@pytest.mark.parametrize("name", CASES)
def test_asking_only_where_a_token_is_uncertain_changes_neither_losses_nor_gradients(name: str) -> None:
    path_name, options, loss = CASES[name]
    path = example_path(path_name, WORDS, **options)
    network = stirred(text_dit.build(text_dit.Options(width=8, depth=1, heads=2, condition=4), WORDS, 6)).double()
    asked: list[int] = []
    network.head.register_forward_hook(lambda module, given, logits: asked.append(logits.shape[:-1].numel()))
    rows = torch.randint(12, (20, 6), generator=torch.Generator().manual_seed(1))
    all_of_them, some = (
        evaluated(FlowObjective(path, LOSSES.get(loss), 0.9, 5.0, answers_at), network, rows)
        for answers_at in (False, True)
    )
    assert asked[0] == 120
    assert 0 < asked[1] < 120
    torch.testing.assert_close(some, all_of_them, rtol=1e-8, atol=1e-10)


def test_a_batch_without_any_uncertain_token_has_no_loss_and_zero_gradients() -> None:
    path = example_path("mask", WORDS)
    network = stirred(text_dit.build(text_dit.Options(width=8, depth=1, heads=2, condition=4), WORDS, 6))
    objective = FlowObjective(path, LOSSES.get("mixture_elbo"), 0.9, None, True)
    path.sample = lambda x1, *given: x1.clone()  # type: ignore[method-assign]
    losses, gradients = evaluated(objective, network, torch.zeros(2, 6, dtype=torch.int64))
    assert not bool(losses.any())
    assert gradients
    assert not any(bool(gradient.any()) for gradient in gradients)


@pytest.mark.parametrize("build", [crystal_dit.build, crystal_autoregressive.build], ids=["dit", "autoregressive"])
def test_a_crystal_has_the_same_logits_without_the_pads_at_its_end(build: object) -> None:
    module = crystal_dit if build is crystal_dit.build else crystal_autoregressive
    network = stirred(module.build(module.Options(width=8, depth=1, heads=2), VOCABULARY, length_of(5))).double()
    assert isinstance(network, Denoiser)
    assert network.ragged
    rows, short = random_crystals([2, 3], 5), length_of(3)
    given = (torch.tensor([0.2, 0.6]),) if module is crystal_dit else ()
    whole, cut = network(rows, *given)[:, :short], network(rows[:, :short], *given)
    present = rows[:, :short] != rows[0, -1]
    torch.testing.assert_close(cut[present], whole[present], rtol=1e-9, atol=1e-9)


def test_each_row_has_the_same_weight_with_and_without_the_pads_at_its_end() -> None:
    """The mean over all positions of a batch is the sum over its uncertain tokens, by the number of rows."""
    options = crystal_autoregressive.Options(width=8, depth=1, heads=2)
    network = stirred(crystal_autoregressive.build(options, VOCABULARY, length_of(5))).double()
    objective, rows = NextTokenObjective(VOCABULARY, tokens=11.0), random_crystals([2, 3, 1], 5)
    whole, cut = (objective(network, part, torch.Generator()) for part in (rows, rows[:, : length_of(3)]))
    torch.testing.assert_close(cut.mean(), whole.mean(), rtol=1e-9, atol=0)
    plain = NextTokenObjective(VOCABULARY)(network, rows, torch.Generator()).sum() / 3 / 11
    torch.testing.assert_close(whole.mean(), plain, rtol=1e-9, atol=0)
    assert not bool(whole[:, length_of(3) :].any())
