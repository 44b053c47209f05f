"""The stage that trains a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
import torch

from pipeline.config import Config, PathChoice
from pipeline.config.loading import load_config, parse_setting
from pipeline.errors import KinoflowError
from pipeline.networks.saved import load_network, path_for
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.stages.train import train as train_stage
from pipeline.store.provenance import sidecar_of
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData
from pipeline.training import gradients


@pytest.fixture
def config(tiny_file: Callable[..., Path]) -> Config:
    return load_config(tiny_file())


@pytest.fixture
def tokens(config: Config, tmp_path: Path) -> Path:
    prepare_stage(Job(config, "checkerboard"), output=tmp_path / "tokens")
    return tmp_path / "tokens"


def train(config: Config, tokens: Path, folder: Path, gpus: int = 0) -> None:
    files = {name: folder / name for name in ("checkpoints", "weights", "metrics", "history", "events")}
    train_stage(RunJob(config, "checkerboard", "metric"), tokens=tokens, gpus=gpus, **files)


def test_weights_of_another_run_are_refused(config: Config, tokens: Path, tmp_path: Path) -> None:
    train(config, tokens, tmp_path)
    with pytest.raises(KinoflowError, match=r"holds the weights of run 'metric', not of 'mask_linear'"):
        load_network(tmp_path / "weights", TokenData.load(tokens), "mask_linear")


def test_training_writes_weights_that_know_what_they_are(config: Config, tokens: Path, tmp_path: Path) -> None:
    train(config, tokens, tmp_path)
    saved = load_network(tmp_path / "weights", TokenData.load(tokens), "metric")
    assert saved.description.path.name == "metric"
    assert saved.description.path.options == {"lp": 2, "a": 1, "c": 3}
    assert not saved.network.training
    assert saved.network(torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3)).shape == (3, 2, 9)


def test_the_history_can_be_followed_in_tensorboard(config: Config, tokens: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(config, tokens, tmp_path)
    events = EventAccumulator(str(tmp_path / "events")).Reload()
    history = pandas.read_csv(tmp_path / "history")
    for name in ("loss", "validation_loss"):
        rows = history.dropna(subset=[name])
        assert [event.step for event in events.Scalars(name)] == rows["step"].tolist()
        assert [event.value for event in events.Scalars(name)] == pytest.approx(rows[name].tolist(), rel=1e-6)


def test_training_writes_metrics_history_and_provenance_and_keeps_its_last_checkpoints(
    config: Config, tokens: Path, tmp_path: Path
) -> None:
    train(config, tokens, tmp_path)
    metrics = json.loads((tmp_path / "metrics").read_text())
    history = pandas.read_csv(tmp_path / "history", float_precision="round_trip")
    assert metrics["step"] == history["step"].iloc[-1] == 20
    assert metrics["validation_loss"] == history["validation_loss"].iloc[-1]
    for name in ("weights", "metrics", "history"):
        assert json.loads(sidecar_of(tmp_path / name).read_text())["settings"]["training"]["steps"] == 20
    assert [path.name for path in sorted((tmp_path / "checkpoints").glob("*/*"))] == [
        "step-000000015.pt",
        "step-000000020.pt",
    ]


def test_more_steps_go_on_from_the_end_of_the_training_before(
    tiny_file: Callable[..., Path], tokens: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = load_config(tiny_file(), [parse_setting("experiments.checkerboard.training.steps=30")])
    train(load_config(tiny_file()), tokens, tmp_path / "twice")
    train(longer, tokens, tmp_path / "twice")
    assert "going on from step 20" in capsys.readouterr().out
    train(longer, tokens, tmp_path / "once")
    assert (tmp_path / "twice/weights").read_bytes() == (tmp_path / "once/weights").read_bytes()


def test_checkpoints_of_other_settings_are_neither_taken_up_nor_deleted(
    tiny_file: Callable[..., Path], tokens: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(load_config(tiny_file()), tokens, tmp_path)
    before = set((tmp_path / "checkpoints").glob("*/*"))
    capsys.readouterr()
    train(
        load_config(tiny_file(), [parse_setting("experiments.checkerboard.training.learning_rate=0.5")]),
        tokens,
        tmp_path,
    )
    said = capsys.readouterr().out
    assert "going on" not in said
    assert f"are left in {next(iter(before)).parent}" in said
    assert before < set((tmp_path / "checkpoints").glob("*/*"))


def test_the_same_run_gives_the_same_file(config: Config, tokens: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        train(config, tokens, tmp_path / name)
    assert (tmp_path / "one/weights").read_bytes() == (tmp_path / "other/weights").read_bytes()


def test_a_path_that_goes_by_frequencies_is_given_those_of_the_training_split(tokens: Path) -> None:
    data = TokenData.load(tokens)
    path = path_for(PathChoice.model_validate({"name": "statistics", "beta_0": -1.0}), data)
    source = path.source(torch.zeros(1, dtype=torch.int64)).exp()[0]
    smoothed = data.counts()[:8].double() + 1
    assert torch.allclose(source[:8], smoothed / smoothed.sum())
    assert source[8] == 0


def test_more_gpus_than_there_are_is_an_error(config: Config, tokens: Path, tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match=r"training\.resources\.gpus"):
        train(config, tokens, tmp_path, gpus=torch.cuda.device_count() + 1)


@pytest.mark.parametrize(
    "setting, kept",
    [
        ("training.learning_rate=0.5", False),
        ("runs.metric.path.lp=3", False),
        ("runs.metric.seed=3", False),
        ("model.width=8", False),
        ("training.steps=40", True),
        ("training.checkpoint_every=1", True),
        ("training.resources.minutes=1", True),
    ],
)
def test_checkpoints_serve_exactly_the_settings_that_give_the_same_weights(
    tiny_file: Callable[..., Path], tokens: Path, setting: str, kept: bool, fingerprint_of: Callable[..., str]
) -> None:
    def of(settings: list[str]) -> str:
        config = load_config(tiny_file(), map(parse_setting, settings))
        return fingerprint_of(lambda: train(config, tokens, tokens.parent))

    before = of([])
    assert (before == of([f"experiments.checkerboard.{setting}"])) is kept
    data = TokenData.load(tokens)
    replace(data, train=data.train.flip(0)).save(tokens)
    assert of([]) != before


def test_a_decayed_training_with_more_steps_begins_anew(
    tiny_file: Callable[..., Path], tokens: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its learning rates would differ from the first step on."""

    def decayed(*settings: str) -> Config:
        keys = ("training.decay=cosine", *settings)
        return load_config(tiny_file(), [parse_setting(f"experiments.checkerboard.{key}") for key in keys])

    train(decayed(), tokens, tmp_path)
    capsys.readouterr()
    train(decayed("training.steps=30"), tokens, tmp_path)
    assert "going on" not in capsys.readouterr().out


def test_dropout_and_noise_have_streams_of_their_own(
    config: Config, tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise, dropout, seed_dropout = set[int](), set[int](), gradients.seed_dropout

    def derived(seed: int, *names: str | int) -> int:
        value = derive_seed(seed, *names)
        noise.update({value} if names[0] == "noise" else ())
        return value

    monkeypatch.setattr(gradients, "derive_seed", derived)
    monkeypatch.setattr(gradients, "seed_dropout", lambda device, seed: dropout.add(seed) or seed_dropout(device, seed))
    train(config, tokens, tmp_path)
    assert len(noise) == 20
    assert len(dropout) == 20
    assert not noise & dropout
