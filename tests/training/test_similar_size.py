"""Training on batches of similar size: taken up again, and with the gradient of plain batches."""

from pathlib import Path

import torch
from lightning_fabric import Fabric
from random_crystals import VOCABULARY, random_crystals, stirred
from torch import Tensor, nn

from pipeline.config import Training
from pipeline.crystals.networks import crystal_autoregressive, crystal_dit
from pipeline.crystals.tokens import length_of
from pipeline.flow.checks import deferred_checks
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import example_path
from pipeline.networks.objective import FlowObjective, NextTokenObjective
from pipeline.tokens.token_data import TokenData
from pipeline.training.batches import Batches, PaddedRows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import Fitted, fit

CRYSTALS = random_crystals([1, 4, 2, 3, 1, 2, 4] * 5, 4)
DATA = TokenData(CRYSTALS, CRYSTALS[:4], CRYSTALS[:4], VOCABULARY, {})
PADDED = PaddedRows(CRYSTALS, DATA.lengths())


def test_the_length_of_a_crystal_ends_with_its_last_atom() -> None:
    assert DATA.lengths().tolist() == [length_of(atoms) for atoms in [1, 4, 2, 3, 1, 2, 4] * 5]


def train(folder: Path, steps: int) -> Fitted:
    torch.manual_seed(0)
    options = crystal_dit.Options(width=8, depth=1, heads=2, dropout=0.1)
    network = crystal_dit.build(options, VOCABULARY, length_of(4))
    objective = FlowObjective(
        example_path("mask", VOCABULARY), LOSSES.get("cross_entropy"), 0.9, DATA.tokens_per_sequence(), answers_at=True
    )
    training = Training(steps=steps, batch=8, parts=2, log_every=1, validate_every=6, checkpoint_every=3)
    fabric, checkpoints = Fabric(accelerator="cpu", devices=1), Checkpoints(folder, "a")
    return fit(fabric, network, objective, PADDED, CRYSTALS[:4], training, 0, checkpoints, around=deferred_checks)


def test_training_that_is_taken_up_again_gives_the_same_bits(tmp_path: Path) -> None:
    train(tmp_path / "stopped", 3)
    again, whole = train(tmp_path / "stopped", 6), train(tmp_path / "whole", 6)
    for name, weights in whole.network.state_dict().items():
        assert torch.equal(weights, again.network.state_dict()[name]), name
    assert again.history[3:] == whole.history[3:]


def test_the_gradients_of_an_epoch_add_up_to_those_of_plain_batches() -> None:
    options = crystal_autoregressive.Options(width=8, depth=1, heads=2, dropout=0.0)
    network = stirred(crystal_autoregressive.build(options, VOCABULARY, length_of(4))).double()
    objective = NextTokenObjective(VOCABULARY, DATA.tokens_per_sequence())

    def epoch(batches: Batches) -> list[Tensor]:
        parts = [part for step in range(5) for part in batches.at(step)]
        loss = sum(objective(network, part, torch.Generator()).mean() for part in parts)
        assert isinstance(loss, Tensor)
        return list(torch.autograd.grad(loss, list(nn.Module.parameters(network))))

    similar, plain = (epoch(Batches(rows, 7, seed=0)) for rows in (PADDED, CRYSTALS))
    torch.testing.assert_close(similar, plain, rtol=1e-8, atol=1e-10)
