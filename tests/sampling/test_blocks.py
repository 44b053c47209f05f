"""Samples in blocks and shards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.config import Config
from pipeline.config.loading import load_config, parse_setting
from pipeline.errors import KinoflowError
from pipeline.networks.saved import Description, new_network, save_network
from pipeline.sampling.blocks import FrameRecorder, blocks_of, draw_tokens, generators
from pipeline.sampling.samples import Drawn, SampleSet, write_blocks
from pipeline.stages.gather import gather
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.stages.reference import reference as reference_stage
from pipeline.stages.sample import sample
from pipeline.store.provenance import sidecar_of
from pipeline.tokens.token_data import TokenData

Configured = Callable[..., Config]


@pytest.fixture
def configured(tiny_file: Callable[..., Path]) -> Configured:
    return lambda *settings: load_config(tiny_file(), map(parse_setting, settings))


@pytest.fixture
def tokens(configured: Configured, tmp_path: Path) -> Path:
    prepare_stage(Job(configured(), "checkerboard"), output=tmp_path / "tokens")
    return tmp_path / "tokens"


@pytest.fixture
def weights(configured: Configured, tokens: Path, tmp_path: Path) -> Path:
    run = configured().experiments["checkerboard"].runs["mask_linear"]
    torch.manual_seed(0)
    data = TokenData.load(tokens)
    network = new_network(run.model, data)
    torch.nn.init.normal_(network.get_submodule("head").get_parameter("weight"))
    save_network(tmp_path / "weights", network, Description.of("mask_linear", run, data))
    return tmp_path / "weights"


def draw(config: Config, tokens: Path, weights: Path, shards: int) -> SampleSet:
    folder = tokens.parent
    files = [folder / f"{shard}-of-{shards}" for shard in range(shards)]
    for shard, file in enumerate(files):
        job = RunJob(config, "checkerboard", "mask_linear")
        sample(job, tokens=tokens, weights=weights, shard=shard, shards=shards, output=file)
    gather(shards=files, output=folder / f"all-{shards}")
    return SampleSet.load(folder / f"all-{shards}")


def test_every_block_is_in_exactly_one_shard() -> None:
    for count, block, shards in [(100, 7, 3), (5, 10, 4), (100, 10, 10), (1, 1, 1)]:
        drawn = [number for shard in range(shards) for number in blocks_of(count, block, shard, shards)]
        assert drawn == list(range(-(-count // block)))


def test_a_shard_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KinoflowError, match="numbered 0 to 2"):
        blocks_of(10, 1, 3, 3)


def test_samples_do_not_depend_on_the_number_of_shards(configured: Configured, tokens: Path, weights: Path) -> None:
    one, three, many = (draw(configured(), tokens, weights, shards) for shards in (1, 3, 8))
    assert one.tokens.shape == (110, 2)
    assert one.frames.shape == (3, 110, 2)
    for other in (three, many):  # 8 shards for 6 blocks: two of them are empty
        assert torch.equal(one.tokens, other.tokens)
        assert torch.equal(one.frames, other.frames)
        assert one.conditions == other.conditions


def test_samples_depend_on_the_seed_of_the_run(configured: Configured, tokens: Path, weights: Path) -> None:
    one = draw(configured(), tokens, weights, 1)
    other = draw(configured("experiments.checkerboard.runs.mask_linear.seed=1"), tokens, weights, 1)
    assert not torch.equal(one.tokens, other.tokens)


def test_blocks_differ_from_each_other(configured: Configured, tokens: Path, weights: Path) -> None:
    samples = draw(configured(), tokens, weights, 1).tokens
    assert not torch.equal(samples[:20], samples[20:40])


def test_frames_go_from_the_source_to_the_samples(configured: Configured, tokens: Path, weights: Path) -> None:
    samples = draw(configured(), tokens, weights, 1)
    mask = 8
    assert bool((samples.frames[0] == mask).all())
    assert 0 < (samples.frames[1] == mask).double().mean() < 1
    assert torch.equal(samples.frames[2], samples.tokens)


def test_the_conditions_say_how_samples_were_drawn(configured: Configured, tokens: Path, weights: Path) -> None:
    velocity = "experiments.checkerboard.sampling.velocity={name: power, alpha: 2.0}"
    conditions = draw(
        configured(velocity, "experiments.checkerboard.sampling.step=euler"), tokens, weights, 1
    ).conditions
    expected = {"run": "mask_linear", "n": 110, "NFE": 4, "velocity": "power (alpha=2.0)", "step": "euler", "seed": 0}
    assert expected.items() <= conditions.items()
    assert conditions["corrector"] == "none"


def test_the_conditions_tell_of_a_corrector(configured: Configured, tokens: Path, weights: Path) -> None:
    conditions = draw(
        configured("experiments.checkerboard.sampling.corrector={weight: 2.0}"), tokens, weights, 1
    ).conditions
    assert "weight=2.0" in conditions["corrector"]


def test_joined_shards_keep_their_provenance(configured: Configured, tokens: Path, weights: Path) -> None:
    draw(configured(), tokens, weights, 3)
    assert str(weights) in sidecar_of(tokens.parent / "all-3").read_text()


def test_shards_that_do_not_make_up_the_whole_are_refused(configured: Configured, tokens: Path, weights: Path) -> None:
    draw(configured(), tokens, weights, 3)
    with pytest.raises(KinoflowError, match="of 110 samples"):
        gather(shards=[tokens.parent / "0-of-3", tokens.parent / "2-of-3"], output=tokens.parent / "part")


@pytest.mark.parametrize("times", [(), (0.0, 0.5)])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_file_written_in_blocks_is_that_of_the_whole_set(
    times: tuple[float, ...], labelled: bool, tmp_path: Path
) -> None:
    generator, conditions = torch.Generator().manual_seed(0), {"run": 'a "b" é', "n": 5, "NFE": 4}
    whole = Drawn(
        torch.randint(900, (5, 3), generator=generator),
        torch.randint(900, (len(times), 5, 3), generator=generator),
        torch.randint(9, (5,), generator=generator),
        torch.arange(5) if labelled else None,
    )
    SampleSet(whole.tokens, conditions, times, whole.frames, whole.labels, whole.visits).save(tmp_path / "whole")
    parts = (
        Drawn(whole.tokens[rows], whole.frames[:, rows], whole.visits[rows], whole.labels[rows] if labelled else None)
        for rows in (slice(0, 2), slice(2, 5))
    )
    write_blocks(tmp_path / "blocks", parts, (5, 3), conditions, times, labelled)
    assert (tmp_path / "blocks").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_frame_is_the_first_state_at_or_after_its_time() -> None:
    recorder = FrameRecorder([1.0, 0.0, 0.3])
    for step in range(5):
        recorder.see(torch.full((1, 1), step), step / 4)
    assert recorder.frames(1, 1).flatten().tolist() == [4, 0, 2]


def test_the_ceiling_is_held_out_data(configured: Configured, tokens: Path, tmp_path: Path) -> None:
    reference_stage(Job(configured(), "checkerboard"), reference="data", tokens=tokens, output=tmp_path / "reference")
    samples = SampleSet.load(tmp_path / "reference")
    assert torch.equal(samples.tokens, TokenData.load(tokens).test[:110].long())
    assert samples.conditions == {"run": "data", "n": 110, "seed": 0}


def test_the_ceiling_has_all_test_data_if_there_are_fewer_than_samples(
    configured: Configured, tokens: Path, tmp_path: Path
) -> None:
    config = configured("experiments.checkerboard.sampling.count=5000")
    reference_stage(Job(config, "checkerboard"), reference="data", tokens=tokens, output=tmp_path / "reference")
    assert SampleSet.load(tmp_path / "reference").conditions["n"] == 120


def test_the_null_has_the_columns_of_the_data_without_their_dependence(
    configured: Configured, tokens: Path, tmp_path: Path
) -> None:
    config = configured("experiments.checkerboard.sampling.count=5000")
    reference_stage(Job(config, "checkerboard"), reference="independent", tokens=tokens, output=tmp_path / "reference")
    drawn, train = SampleSet.load(tmp_path / "reference").tokens, TokenData.load(tokens).train.long()
    for place in range(2):
        shares = [group[:, place].bincount(minlength=8) / len(group) for group in (drawn, train)]
        assert torch.allclose(*shares, atol=0.03)
    black = ((drawn[:, 0] // 4 + drawn[:, 1] // 4) % 2 == 0).double().mean()
    assert 0.45 < black < 0.55


def test_sampling_that_was_stopped_goes_on_with_the_next_block_and_gives_the_same_bytes(
    configured: Configured, tokens: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, drawn, stop_after = tokens.parent, list[int](), [3]

    def counted(*arguments: Any, **options: Any) -> torch.Tensor:
        if len(drawn) == stop_after[0]:
            raise KeyboardInterrupt
        drawn.append(0)
        return draw_tokens(*arguments, **options)

    def run(name: str) -> bytes:
        job = RunJob(configured(), "checkerboard", "mask_linear")
        sample(job, tokens=tokens, weights=weights, output=folder / name, journal=folder / "journal")
        return (folder / name).read_bytes()

    monkeypatch.setattr("pipeline.sampling.blocks.draw_tokens", counted)
    with pytest.raises(KeyboardInterrupt):
        run("stopped")
    stop_after[0] = -1
    resumed = run("stopped")
    assert len(drawn) == 6  # blocks in all: none was drawn twice
    assert not (folder / "journal").exists()
    assert resumed == run("whole")


def test_on_a_cpu_layouts_and_tokens_are_drawn_by_one_generator() -> None:
    on_host, generator = generators(7, torch.device("cpu"))
    assert on_host is generator
    assert generator.initial_seed() == 7


def test_on_another_device_tokens_are_drawn_by_a_generator_there(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[torch.device] = []

    def generator_on(device: torch.device | str = "cpu") -> torch.Generator:
        made.append(torch.device(device))
        return torch._C.Generator()

    monkeypatch.setattr(torch, "Generator", generator_on)
    on_host, generator = generators(7, torch.device("cuda"))
    assert made == [torch.device("cpu"), torch.device("cuda")]
    assert on_host is not generator
    assert generator.initial_seed() == 7
