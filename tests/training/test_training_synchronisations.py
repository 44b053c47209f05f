"""Training waits for the device at most once in a step; on a GPU each time costs an empty queue."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from random_crystals import VOCABULARY, random_crystals
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes
from waits import Waits

from pipeline.config import Training
from pipeline.crystals.networks import crystal_autoregressive, crystal_dit
from pipeline.crystals.tokens import length_of
from pipeline.flow.checks import deferred_checks
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import example_path
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.objective import FlowObjective, NextTokenObjective, Objective
from pipeline.text.networks import text_autoregressive, text_dit
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import fit

WORDS = Vocabulary.single(12, specials=1)
TEXT = torch.randint(12, (40, 6), generator=torch.Generator().manual_seed(0))
CRYSTALS = random_crystals([1, 2, 3, 4] * 10, 4)


def text(path: str, loss: str, **options: Any) -> tuple[nn.Module, Objective, Tensor]:
    network = text_dit.build(text_dit.Options(width=8, depth=1, heads=2, condition=4), WORDS, 6)
    return network, FlowObjective(example_path(path, WORDS, **options), LOSSES.get(loss), 0.9, 6.0, True), TEXT


def crystals(path: str) -> tuple[nn.Module, Objective, Tensor]:
    options = crystal_dit.Options(width=8, depth=1, heads=2, dropout=0.1)
    network = crystal_dit.build(options, VOCABULARY, length_of(4))
    objective = FlowObjective(example_path(path, VOCABULARY), LOSSES.get("cross_entropy"), 0.9, 12.0, True)
    return network, objective, CRYSTALS


def next_word() -> tuple[nn.Module, Objective, Tensor]:
    options = text_autoregressive.Options(width=8, depth=1, heads=2)
    return text_autoregressive.build(options, WORDS, 6), NextTokenObjective(WORDS), TEXT


def next_of_crystals() -> tuple[nn.Module, Objective, Tensor]:
    options = crystal_autoregressive.Options(width=8, depth=1, heads=2)
    network = crystal_autoregressive.build(options, VOCABULARY, length_of(4))
    return network, NextTokenObjective(VOCABULARY), CRYSTALS


PROBLEMS = {
    "mask": (lambda: text("mask", "mixture_elbo"), 1),
    "SEDD": (lambda: text("mask", "score_entropy"), 1),
    "SEDD, uniform": (lambda: text("uniform", "score_entropy", scheduler="linear"), 0),
    "statistics": (lambda: text("statistics", "mixture_elbo"), 0),
    "metric": (lambda: text("metric", "cross_entropy"), 0),
    "crystals, mask": (lambda: crystals("mask"), 1),
    "crystals, metric": (lambda: crystals("metric"), 1),
    "crystals, kindwise": (lambda: crystals("kindwise"), 1),
    "next word": (next_word, 0),
    "next token of crystals": (next_of_crystals, 0),
}


def on_the_host(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that is not counted: the objective calls it for rows that lie on the host."""

    def uncounted(*arguments: Any) -> Any:
        with _disable_current_modes():
            return method(*arguments)

    return uncounted


def counted(name: str, steps: int, folder: Path) -> Counter[str]:
    """Return what is counted in a training of so many steps that reads its loss at the end."""
    torch.manual_seed(0)
    network, objective, tokens = PROBLEMS[name][0]()
    training = Training(steps=steps, batch=8, parts=1, log_every=99, validate_every=99, checkpoint_every=99)
    checkpoints = Checkpoints(folder / f"{name} {steps}", "a")
    with Waits() as mode:
        fabric = Fabric(accelerator="cpu", devices=1)
        fit(fabric, network, objective, tokens, tokens[:8], training, 0, checkpoints, around=deferred_checks)
    return mode.counts


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_waits_for_the_device_at_most_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.flow.device.is_host", lambda tensor: False)
    monkeypatch.setattr(Vocabulary, "places_of", on_the_host(Vocabulary.places_of))
    few, many = counted(name, 4, tmp_path), counted(name, 8, tmp_path)
    assert sum((many - few).values()) <= 4 * PROBLEMS[name][1], many - few
