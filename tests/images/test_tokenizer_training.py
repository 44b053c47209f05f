"""Training a tokenizer: with a discriminator from some step on, going on after a stop, on several devices."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from lightning_fabric import Fabric
from small_tokenizer import config, settings, stripes, train
from torch import Tensor, nn

from pipeline.config.loading import merge
from pipeline.errors import KinoflowError
from pipeline.images.tokenizer import SavedTokenizer
from pipeline.images.vqgan import TokenizerObjective, describe
from pipeline.stages.job import Job
from pipeline.stages.train_tokenizer import train_tokenizer as train_tokenizer_stage
from pipeline.store.provenance import sidecar_of
from pipeline.training.loop import Interrupted


@dataclass
class Watched:
    """An objective that keeps what the discriminator is before each step, and asks for a stop in one of them."""

    stop_in: int | None = None
    discriminators: list[Tensor] = field(default_factory=list)

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        if network.training:
            parameters = network.module.discriminator.parameters()
            self.discriminators.append(torch.cat([parameter.detach().flatten() for parameter in parameters]))
            if len(self.discriminators) == self.stop_in:
                os.kill(os.getpid(), signal.SIGTERM)
        return TokenizerObjective(17, 8, "none")(network, rows, generator)


@pytest.mark.parametrize("stop", [2, 5])  # before and after the discriminator begins
def test_training_that_is_stopped_and_taken_up_again_gives_the_same_bits(stop: int, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=f"stopped after step {stop}"):
        train(tmp_path / "stopped", settings(), Watched(stop_in=stop))
    resumed, whole = train(tmp_path / "stopped", settings()), train(tmp_path / "whole", settings())
    for name, weights in whole.network.state_dict().items():
        assert torch.equal(weights, resumed.network.state_dict()[name]), name
    assert whole.history == resumed.history


@pytest.mark.parametrize("parts", [1, 2])
def test_the_discriminator_is_changed_from_its_step_on(parts: int, tmp_path: Path) -> None:
    watched = Watched()
    train(tmp_path, settings(adversarial_from=3), watched, parts=parts)
    before = watched.discriminators[::parts]
    changed = [not torch.equal(one, other) for one, other in pairwise(before)]
    assert changed == [False] * 3 + [True] * 4


def test_without_an_adversarial_loss_there_is_no_discriminator(tmp_path: Path) -> None:
    fitted = train(tmp_path, settings(adversarial=0.0), steps=2)
    assert not [name for name in fitted.network.state_dict() if name.startswith("discriminator")]


def test_training_lowers_the_validation_loss(tmp_path: Path) -> None:
    history = train(tmp_path, settings(adversarial=0.0), steps=60, validate_every=20, ema=0.9).history
    losses = [row["validation_loss"] for row in history if row["validation_loss"] is not None]
    assert losses[-1] < losses[0] / 2


def _on_two(fabric: Fabric, folder: Path) -> None:
    torch.set_num_threads(1)
    fitted = train(folder / "checkpoints", settings(adversarial_from=2), fabric=fabric, steps=5, parts=2)
    torch.save(fitted.network.state_dict(), folder / f"{fabric.global_rank}.pt")


def test_two_processes_end_with_the_same_network_and_codes(tmp_path: Path) -> None:
    from lightning_fabric.strategies import DDPStrategy

    strategy = DDPStrategy(start_method="spawn", find_unused_parameters=True)
    Fabric(accelerator="cpu", devices=2, strategy=strategy).launch(_on_two, tmp_path)
    one, other = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    for name, weights in one.items():
        assert torch.equal(weights, other[name]), name
    assert int(one["images_seen"]) == 5 * 8


@pytest.fixture
def images(tmp_path: Path) -> Path:
    stripes().save(tmp_path / "images")
    return tmp_path / "images"


def run(images: Path, folder: Path, **changes: object) -> None:
    files = {name: folder / name for name in ("checkpoints", "weights", "metrics", "history", "events")}
    train_tokenizer_stage(Job(config(folder, **changes), "latents"), images=images, gpus=0, **files)


def test_the_stage_writes_a_tokenizer_metrics_history_and_provenance_and_keeps_its_last_checkpoint(
    images: Path, tmp_path: Path
) -> None:
    run(images, tmp_path)
    tokenizer = SavedTokenizer.load(tmp_path / "weights")
    assert tokenizer.encode(stripes().images["test"]).shape == (6, 4, 4)
    history, metrics = (
        pandas.read_csv(tmp_path / "history", float_precision="round_trip"),
        json.loads((tmp_path / "metrics").read_text()),
    )
    assert metrics["step"] == history["step"].iloc[-1] == 8
    assert metrics["validation_loss"] == history["validation_loss"].iloc[-1]
    for name in ("weights", "metrics", "history"):
        assert json.loads(sidecar_of(tmp_path / name).read_text())["settings"]["codes"] == 6
    assert [path.name for path in (tmp_path / "checkpoints").glob("*/*")] == ["step-000000008.pt"]
    assert list((tmp_path / "events").iterdir())


def test_the_same_settings_give_the_same_file(images: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        run(images, tmp_path / name)
    assert (tmp_path / "one/weights").read_bytes() == (tmp_path / "other/weights").read_bytes()


def test_lpips_without_its_file_is_an_error_that_names_it(images: Path, tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"lpips/vgg16\.ckpt: cannot be read.*fetch"):
        run(images, tmp_path, loss={"perceptual": 1.0, "adversarial": 0.0})


def test_an_experiment_without_a_tokenizer_is_an_error(images: Path, tmp_path: Path) -> None:
    without = config(tmp_path).model_copy(
        update={
            "experiments": {"latents": config(tmp_path).experiments["latents"].model_copy(update={"tokenizer": None})}
        }
    )
    with pytest.raises(KinoflowError, match=r"experiments\.latents\.tokenizer"):
        describe(without, "latents", stripes())


@pytest.mark.parametrize(
    "changes, kept",
    [
        ({"loss": {"commitment": 0.5}}, False),
        ({"network": {"blocks": 2}}, False),
        ({"training": {"learning_rate": 0.1}}, False),
        ({"training": {"resources": {"gpus": 2}}}, False),
        ({"training": {"steps": 30, "checkpoint_every": 3, "resources": {"minutes": 1}}}, True),
    ],
)
def test_checkpoints_serve_exactly_the_settings_that_give_the_same_weights(
    images: Path, tmp_path: Path, changes: dict[str, Any], kept: bool, fingerprint_of: Callable[..., str]
) -> None:
    before = merge(settings().model_dump(), {"training": {"parts": 2}})
    after = merge(before, changes)
    same = fingerprint_of(lambda: run(images, tmp_path, **before)) == fingerprint_of(
        lambda: run(images, tmp_path, **after)
    )
    assert same is kept
