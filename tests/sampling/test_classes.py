"""Samples of networks that are told classes: which class each is of, and guidance by them."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from small_images import CLASSES, image_config, token_data, write_model
from torch import Tensor, nn

from pipeline.config import Config, Sampling
from pipeline.flow.sampler import sample
from pipeline.networks.saved import SavedModel
from pipeline.sampling.autoregressive import OfClasses
from pipeline.sampling.blocks import draw_blocks, draw_tokens, labels_of
from pipeline.sampling.samples import SampleSet
from pipeline.stages.gather import gather
from pipeline.stages.job import RunJob
from pipeline.stages.sample import sample as sample_stage

DATA = token_data()
LABELS = torch.tensor([0, 1, 2, 1, 0])
NOTHING = torch.full_like(LABELS, CLASSES)
KINDS = torch.zeros(len(LABELS), DATA.length, dtype=torch.int64)
SAMPLING = Sampling(count=11, steps=3, block=4)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    sweep = [{"runs": ["metric"], "steps": [2], "guidance": [0.5]}]
    sampling = {"count": 11, "block": 4, "frames": [0]}
    ar = {"path": None, "model": {"name": "image_autoregressive", "width": 8, "depth": 1, "heads": 2, "multiple": 8}}
    again = {"path": {"name": "metric", "lp": 2, "a": 1, "c": 3}, "loss": "cross_entropy"}
    runs = {"ar": ar, "again": again}
    return image_config(tmp_path_factory.mktemp("config"), sweep=sweep, sampling=sampling, runs=runs)


@pytest.fixture(scope="module")
def models(config: Config, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SavedModel]:
    folder = tmp_path_factory.mktemp("models")
    return {
        run: write_model(config, "pixels", run, DATA, folder / run) for run in ("ar", "mask_cubic", "metric", "again")
    }


class Told(nn.Module):
    """A network that is sure that every token of an image is the number of its class; no class is number 3."""

    def __init__(self) -> None:
        super().__init__()
        self.sure = nn.Parameter(torch.tensor(50.0))

    def forward(self, x: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        tokens = torch.eye(DATA.vocabulary.size)[labels]
        return self.sure * tokens[:, None].expand(*x.shape, -1)


class Counted:
    """A model whose network counts how often it is asked, and remembers for which classes."""

    def __init__(self, model: SavedModel) -> None:
        self.labels: list[Tensor] = []
        network = model.network

        class Recorder(nn.Module):
            def __init__(recorder) -> None:
                super().__init__()
                recorder.network = network

            def forward(recorder, x: Tensor, t: Tensor, labels: Tensor) -> Any:
                self.labels.append(labels)
                return network(x, t, labels=labels)

        self.model = replace(model, network=Recorder())


def drawn(model: SavedModel, guidance: float, labels: Tensor | None = LABELS, **values: Any) -> Tensor:
    generator = torch.Generator().manual_seed(4)
    sampling = SAMPLING.model_copy(update={"guidance": guidance} | values)
    return draw_tokens(model, DATA, sampling, KINDS, generator, labels=labels).tokens


def test_classes_take_turns_and_the_network_is_told_them(models: dict[str, SavedModel]) -> None:
    for block, run in ((4, "metric"), (3, "mask_cubic"), (11, "mask_cubic")):
        sampling = SAMPLING.model_copy(update={"block": block})
        blocks = range(-(-11 // block))
        drawn = draw_blocks(replace(models[run], network=Told()), DATA, sampling, seed=0, blocks=blocks)
        assert torch.equal(
            torch.cat([block.tokens for block in drawn]).long(),
            (torch.arange(11) % CLASSES)[:, None].expand(-1, DATA.length),
        )


@pytest.mark.parametrize("run", ["ar", "metric"])
def test_classes_and_samples_do_not_depend_on_the_shards(
    run: str, config: Config, models: dict[str, SavedModel], tmp_path: Path
) -> None:
    DATA.save(tmp_path / "tokens")
    write_model(config, "pixels", run, DATA, tmp_path / "weights")
    gathered = []
    for shards in (1, 5):  # two of five are empty
        files = [tmp_path / f"{shard}-of-{shards}" for shard in range(shards)]
        for shard, file in enumerate(files):
            given = {"tokens": tmp_path / "tokens", "weights": tmp_path / "weights", "output": file}
            sample_stage(RunJob(config, "pixels", run), shard=shard, shards=shards, **given)
        gather(shards=files, output=tmp_path / f"all-{shards}")
        gathered.append(SampleSet.load(tmp_path / f"all-{shards}"))
    one, five = gathered
    assert one.labels is not None
    assert five.labels is not None
    assert one.labels.tolist() == five.labels.tolist() == [number % CLASSES for number in range(11)]
    assert torch.equal(one.tokens, five.tokens)
    assert one.conditions["guidance"] == 1.0


def test_a_network_that_is_not_told_classes_has_no_labels(tmp_path: Path) -> None:
    config = image_config(tmp_path, model={"conditional": False}, sweep=[])
    model = write_model(config, "pixels", "metric", DATA, tmp_path / "weights")
    assert labels_of(model, DATA, range(4)) is None
    assert drawn(model, 1.0, labels=None).shape == KINDS.shape


@pytest.mark.parametrize("run", ["mask_cubic", "metric"])
def test_without_guidance_the_network_is_asked_once_a_step_for_the_class_alone(
    run: str, models: dict[str, SavedModel]
) -> None:
    counted, model = Counted(models[run]), models[run]
    tokens = drawn(counted.model, 1.0, way="steps")
    assert len(counted.labels) == SAMPLING.steps
    assert all(torch.equal(labels, LABELS) for labels in counted.labels)
    path = model.path
    assert path is not None
    alone = sample(
        partial(model.posterior, labels=LABELS),
        path,
        kinds=KINDS,
        steps=SAMPLING.steps,
        way="steps",
        generator=torch.Generator().manual_seed(4),
    )
    assert torch.equal(tokens, alone.tokens)


@pytest.mark.parametrize("run", ["mask_cubic", "metric"])
def test_guidance_of_scale_zero_asks_for_no_class_alone(run: str, models: dict[str, SavedModel]) -> None:
    counted = Counted(models[run])
    tokens = drawn(counted.model, 0.0)
    assert len(counted.labels) == SAMPLING.steps
    assert torch.equal(tokens, drawn(models[run], 1.0, labels=NOTHING))
    assert not torch.equal(tokens, drawn(models[run], 1.0))


@pytest.mark.parametrize("run", ["mask_cubic", "metric"])
def test_guided_samples_are_those_of_the_guided_logits(run: str, models: dict[str, SavedModel]) -> None:
    counted, model = Counted(models[run]), models[run]
    tokens = drawn(counted.model, 2.5, way="steps")
    assert len(counted.labels) == 2 * SAMPLING.steps

    def by_hand(x: Tensor, t: Tensor) -> Tensor:
        with_class, without = model.network(x, t, labels=LABELS), model.network(x, t, labels=NOTHING)
        return without + 2.5 * (with_class - without)

    assert model.path is not None
    generator = torch.Generator().manual_seed(4)
    expected = sample(by_hand, model.path, kinds=KINDS, steps=SAMPLING.steps, way="steps", generator=generator)
    assert torch.equal(tokens, expected.tokens)
    assert not torch.equal(tokens, drawn(model, 1.0))


@pytest.mark.parametrize("scale, asked", [(0.0, 1), (1.0, 1), (2.5, 2)])
def test_guided_logits_of_an_autoregressive_network_are_those_of_all_tokens_at_once(
    scale: float, asked: int, models: dict[str, SavedModel]
) -> None:
    network, tokens = models["ar"].network, DATA.test[: len(LABELS)].long()
    with torch.no_grad():
        with_class, without = network(tokens, labels=LABELS), network(tokens, labels=NOTHING)
    expected = without + scale * (with_class - without)
    guided: Any = OfClasses(network, LABELS, CLASSES, scale)  # type: ignore[arg-type]
    state = guided.start(KINDS)
    assert len(state) == asked
    for place in range(DATA.length):
        logits = guided.next_logits(tokens[:, place - 1] if place else None, state)
        assert torch.allclose(logits, expected[:, place], atol=1e-4)
    assert not torch.allclose(with_class, without, atol=1e-2)


def test_autoregressive_samples_at_scales_zero_and_one_are_those_of_no_class_and_of_the_class(
    models: dict[str, SavedModel],
) -> None:
    plain, none = drawn(models["ar"], 1.0), drawn(models["ar"], 0.0)
    assert torch.equal(none, drawn(models["ar"], 1.0, labels=NOTHING))
    assert not torch.equal(plain, none)
    assert not torch.equal(plain, drawn(models["ar"], 3.0))


def test_the_likeliest_token_alone_makes_autoregressive_samples_greedy(models: dict[str, SavedModel]) -> None:
    greedy = torch.zeros_like(KINDS)
    with torch.no_grad():
        for place in range(DATA.length):
            logits = models["ar"].network(greedy, labels=LABELS)[:, place]
            greedy[:, place] = logits[:, :-1].argmax(-1)  # the mask is no data
    assert torch.equal(drawn(models["ar"], 1.0, top_k=1), greedy)
    assert not torch.equal(drawn(models["ar"], 1.0), greedy)


def test_swept_runs_of_one_network_begin_with_the_same_noise_and_other_runs_do_not(
    config: Config, tmp_path: Path
) -> None:
    DATA.save(tmp_path / "tokens")
    found = {}
    for run, trained in (("metric", "metric"), ("metric_steps_2_guidance_0_5", "metric"), ("again", "again")):
        write_model(config, "pixels", trained, DATA, tmp_path / "weights")
        files = {"tokens": tmp_path / "tokens", "weights": tmp_path / "weights", "output": tmp_path / run}
        sample_stage(RunJob(config, "pixels", run), **files)
        found[run] = SampleSet.load(tmp_path / run)
    one, swept, other = found.values()
    assert torch.equal(one.frames[0], swept.frames[0])
    assert not torch.equal(one.tokens, swept.tokens)
    assert not torch.equal(one.frames[0], other.frames[0])
    said = {"run": "metric_steps_2_guidance_0_5", "weights": "metric", "NFE": 2, "guidance": 0.5}
    assert said.items() <= swept.conditions.items()
