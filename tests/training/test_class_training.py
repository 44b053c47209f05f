"""Training networks that are told the class of each sequence, or not told it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from small_images import CLASSES, image_config, stirred, token_data
from torch import Tensor, nn

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.networks.objective import ClassObjective, objective_of
from pipeline.networks.saved import new_network
from pipeline.training.batches import Batches, LabelledRows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import Fitted, fit

DATA = token_data()


@dataclass
class Seen:
    """An objective that keeps what the network is given and returns no losses."""

    tokens: Tensor | None = None

    def __call__(self, network: Any, x1: Tensor, generator: torch.Generator) -> Tensor:
        self.tokens = x1
        labels: Tensor = network(x1)
        return labels


def told(x: Tensor, labels: Tensor) -> Tensor:
    return labels


def rows(count: int) -> Tensor:
    tokens = torch.arange(count)[:, None] * 10 + torch.arange(4)
    return torch.cat([tokens, (torch.arange(count) % CLASSES)[:, None]], dim=1)


@pytest.mark.parametrize("drop", [0.0, 0.25, 1.0])
def test_a_share_of_the_classes_is_dropped_and_tokens_stay_as_they_are(drop: float) -> None:
    given, seen = rows(4000), Seen()
    labels = ClassObjective(seen, CLASSES, drop)(told, given, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    dropped = labels == CLASSES
    assert float(dropped.double().mean()) == pytest.approx(drop, abs=0.03 if 0 < drop < 1 else 0)
    assert torch.equal(labels[~dropped], given[~dropped, -1])
    assert seen.tokens is not None
    assert torch.equal(seen.tokens, given[:, :-1])


def test_which_classes_are_dropped_is_decided_by_the_generator_alone() -> None:
    objective, given = ClassObjective(Seen(), CLASSES, 0.5), rows(200)
    one, same, other = (
        objective(told, given, torch.Generator().manual_seed(seed))  # type: ignore[arg-type]
        for seed in (1, 1, 2)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_the_loss_of_a_row_depends_on_its_class(tmp_path: Path) -> None:
    config = image_config(tmp_path, training={"class_drop": 0.0})
    network = new_network_of(config)
    objective = objective_of(run_of(config), DATA, network, conditional=True)
    given = LabelledRows(DATA.train, DATA.labels["train"])[torch.arange(6)]
    other = given.clone()
    other[2, -1] = (other[2, -1] + 1) % CLASSES
    one, changed = (objective(network, part, torch.Generator().manual_seed(0)) for part in (given, other))
    differs = (one != changed).any(-1)
    assert differs.tolist() == [False, False, True, False, False, False]


def test_labelled_rows_are_tokens_with_their_classes_behind_them() -> None:
    labelled = LabelledRows(DATA.train, DATA.labels["train"])
    whole = torch.cat([DATA.train.long(), DATA.labels["train"][:, None]], dim=1)
    assert len(labelled) == len(whole)
    assert torch.equal(labelled[torch.tensor([3, 0, 3])], whole[[3, 0, 3]])
    one, other = Batches(labelled, 5, seed=1), Batches(whole, 5, seed=1)
    for step in range(6):  # over the end of an epoch
        assert torch.equal(one.at(step)[0], other.at(step)[0])


class Stopped:
    """An objective that is killed in its n-th training batch."""

    def __init__(self, objective: Any, at: int) -> None:
        self.objective, self.at, self.batches = objective, at, 0

    def __call__(self, network: Any, batch: Tensor, generator: torch.Generator) -> Tensor:
        losses: Tensor = self.objective(network, batch, generator)
        self.batches += torch.is_grad_enabled()
        if self.batches == self.at:
            raise KeyboardInterrupt
        return losses


def test_training_with_classes_that_is_taken_up_again_gives_the_same_bits(tmp_path: Path) -> None:
    config = image_config(tmp_path, training={"class_drop": 0.3, "steps": 6, "checkpoint_every": 2})
    objective = objective_of(run_of(config), DATA, new_network_of(config), conditional=True)

    def train(folder: str, stopped: Stopped) -> Fitted:
        every = torch.arange(len(DATA.validation))
        return fit(
            Fabric(accelerator="cpu", devices=1),
            new_network_of(config),
            stopped,
            LabelledRows(DATA.train, DATA.labels["train"]),
            LabelledRows(DATA.validation, DATA.labels["validation"])[every],
            run_of(config).training,
            seed=7,
            checkpoints=Checkpoints(tmp_path / folder, "a"),
        )

    with pytest.raises(KeyboardInterrupt):
        train("stopped", Stopped(objective, 5))
    again = Stopped(objective, 0)
    one, other = train("stopped", again), train("never", Stopped(objective, 0))
    assert again.batches == 2
    for name, weights in one.network.state_dict().items():
        assert torch.equal(weights, other.network.state_dict()[name]), name
    assert one.history == other.history


def test_classes_that_the_data_have_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="conditional: the images have no classes"):
        new_network(run_of(image_config(tmp_path)).model, replace(DATA, labels={}, classes=0))


def run_of(config: Config) -> Any:
    return config.experiments["pixels"].runs["metric"]


def new_network_of(config: Config) -> nn.Module:
    return stirred(new_network(run_of(config).model, DATA))
