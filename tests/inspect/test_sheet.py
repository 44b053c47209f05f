"""The scale sheet: the paper's sizes, the work of sampling and scoring, disk, and limits that are too short."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import TINY, TINY_LATENTS, TINY_PIXELS, TINY_TEXT

from pipeline.config import Config
from pipeline.config.loading import load_config, merge
from pipeline.errors import KinoflowError
from pipeline.inspect.plan.estimate import Estimate, finished_trainings
from pipeline.inspect.plan.shapes import shape_of
from pipeline.inspect.plan.sheet import Sheet, sheet_of
from pipeline.inspect.plan.work import GPUS
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare as prepare_stage
from pipeline.stages.train import train as train_stage
from pipeline.tokens.token_data import TokenData

ROOT = Path(__file__).parents[2]
TINY_IMAGES = {"experiments": {"pixels": TINY_PIXELS, "latents": TINY_LATENTS, "text": TINY_TEXT}}


@pytest.fixture(scope="module")
def paper() -> Sheet:
    return sheet_of(load_config(ROOT / "config/paper.yaml", choices=False))


def configured(folder: Path, changes: dict[str, Any]) -> Config:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(merge(merge(TINY, TINY_IMAGES), changes)))
    return load_config(path, choices=False)


def flops(sheet: Sheet, experiment: str, rule: str) -> dict[str, float]:
    found: Counter[str] = Counter()
    for work in sheet.experiments[experiment].work:
        if work.rule == rule:
            found[work.name] += work.flops  # type: ignore[assignment]
    return dict(found)


@pytest.mark.parametrize(
    "experiment, network, millions",
    [
        ("materials", "crystal_dit", 25),
        ("materials", "crystal_autoregressive", 25),
        ("text", "text_dit", 150),
        ("text", "text_autoregressive", 150),
        ("pixels", "image_unet", 113),
        ("latents", "image_transformer", 111),
        ("latents", "image_transformer, time: False", 111),
        ("latents", "image_autoregressive", 111),
    ],
)
def test_the_papers_networks_have_the_papers_number_of_parameters(
    paper: Sheet, experiment: str, network: str, millions: float
) -> None:
    counted = {label: count.parameters for label, _, count in paper.experiments[experiment].networks.rows()}
    assert counted[network] == pytest.approx(millions * 1e6, rel=0.05)


def test_the_papers_text_takes_six_flops_a_parameter_and_token(paper: Sheet) -> None:
    sequences, length, parameters = 200_000 * 512, 1024, 149_449_600
    # Attention adds an eighth, and the layers that make something of the time are used once a sequence.
    assert flops(paper, "text", "train")["mask_ko"] == pytest.approx(6 * parameters * sequences * length, rel=0.06)


def test_the_papers_tokens_take_the_disk_that_its_configuration_names(paper: Sheet) -> None:
    kept = {need.what: need.size for need in paper.experiments["text"].disk if need.kept}
    assert kept["tokens"] == pytest.approx(210e9, rel=0.01)
    images = sum(need.size or 0 for need in paper.experiments["latents"].disk if need.what.startswith("images"))
    assert images == pytest.approx(620e9, rel=0.05)


def test_runs_that_share_weights_train_once_and_sample_each(paper: Sheet) -> None:
    trained, sampled = flops(paper, "latents", "train"), flops(paper, "latents", "sample")
    assert list(trained) == ["ar", "mask_cubic", "metric"]
    assert len(sampled) == 3 + 3 * 15 + 2 * 4 + 2


def test_a_prediction_draws_its_samples_for_each_composition(paper: Sheet) -> None:
    sampled, predicted = flops(paper, "materials", "sample"), flops(paper, "materials", "predict")
    assert predicted.keys() == sampled.keys() - {"ar"}
    for name, found in predicted.items():
        assert found == pytest.approx(2 * sampled[name])  # 1,000 x 20 structures, and 10,000 samples


def test_guidance_doubles_the_work_of_sampling_and_steps_multiply_it(tmp_path: Path) -> None:
    sheet = sheet_of(configured(tmp_path, {}))
    drawn = flops(sheet, "pixels", "sample")
    network = next(count for label, _, count in sheet.experiments["pixels"].networks.rows() if label == "image_unet")
    assert drawn["metric"] == 24 * 4 * network.forward
    assert drawn["metric_steps_2"] == drawn["metric"] / 2
    assert drawn["metric_velocity_campbell_guidance_2"] == 2 * drawn["metric"]
    autoregressive = sheet.experiments["latents"].networks.of_run["ar"][1]
    assert flops(sheet, "latents", "sample")["ar"] == 24 * autoregressive.forward


def test_a_search_draws_for_each_of_its_combinations(tmp_path: Path) -> None:
    sheet = sheet_of(configured(tmp_path, {}))
    forward = sheet.experiments["pixels"].networks.of_run["metric"][1].forward
    velocities, correctors, samples, steps = 2, 2, 12, 2
    expected = velocities * correctors * samples * steps * forward
    assert flops(sheet, "pixels", "search") == {"metric_searched_2": expected}


def test_scoring_counts_bounds_exact_likelihoods_and_a_judge_of_the_experiment(tmp_path: Path) -> None:
    sheet = sheet_of(configured(tmp_path, {}))
    networks = sheet.experiments["text"].networks
    judge, denoiser = networks.of_run["ar"][1].forward, networks.of_run["mask_ko"][1].forward
    scored = flops(sheet, "text", "score")
    assert scored["mask_ko"] == 6 * 4 * denoiser + 6 * judge  # sequences at points, and samples that are judged
    assert scored["ar"] == 6 * judge + 6 * judge
    assert scored["mask_ko_steps_2"] == scored["data"] == 6 * judge  # its network has a row of its own


def test_checkpoints_hold_the_weights_twice_and_two_moments_and_are_kept_twice(tmp_path: Path) -> None:
    sheet = sheet_of(configured(tmp_path, {}))
    needs = {need.what: need.size for need in sheet.experiments["checkerboard"].disk}
    assert needs["checkpoints"] == 2 * 4 * (needs["weights"] or 0)
    assert needs["samples"] == 4 * (2 * 110 * 2 * (1 + 3) + 2 * 110 * 2)  # runs with three frames, and references


def test_shapes_and_weights_are_those_of_prepared_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = configured(tmp_path, {})
    prepare_stage(Job(config, "checkerboard"), output=tmp_path / "tokens")
    data, shape = TokenData.load(tmp_path / "tokens"), shape_of("checkerboard", config.experiments["checkerboard"])
    assert (shape.length, shape.vocabulary.size) == (data.length, data.vocabulary.size)
    assert shape.rows == {split: len(getattr(data, split)) for split in ("train", "validation", "test")}
    outputs = {name: tmp_path / name for name in ("checkpoints", "weights", "metrics", "history")}
    train_stage(RunJob(config, "checkerboard", "metric"), tokens=tmp_path / "tokens", gpus=0, **outputs)
    needs = {need.what: need.size or 0 for need in sheet_of(config).experiments["checkerboard"].disk}
    header = 2000  # what the file says of itself, at most
    assert 0 <= outputs["weights"].stat().st_size - needs["weights"] / 2 < header


def test_a_limit_below_the_estimate_is_named_with_its_key(tmp_path: Path) -> None:
    changes = {
        "training": {"steps": 10**9, "resources": {"gpus": 1, "minutes": 30}},
        "sampling": {"resources": {"gpus": 1}},
    }
    sheet = sheet_of(configured(tmp_path, {"experiments": {"pixels": changes}}))
    slow, fast = (Estimate(sheet, GPUS["V100"], share).limits() for share in (0.1, 1.0))
    assert [limit.hours for limit in slow] == pytest.approx([10 * limit.hours for limit in fast])
    warnings = Estimate(sheet, GPUS["V100"], 0.35).warnings()
    assert len(warnings) == 1
    assert "pixels: train of mask_cubic takes about" in warnings[0]
    assert "set experiments.pixels.training.resources.minutes to " in warnings[0]


def test_a_run_with_a_limit_of_its_own_is_named(tmp_path: Path) -> None:
    own = {"training": {"steps": 10**9, "resources": {"gpus": 1, "minutes": 30}}}
    sheet = sheet_of(configured(tmp_path, {"experiments": {"pixels": {"runs": {"metric": own}}}}))
    (warning,) = Estimate(sheet, GPUS["A100"], 0.35).warnings()
    assert "experiments.pixels.runs.metric.training.resources.minutes" in warning


def test_more_gpus_shorten_a_job_and_do_not_change_gpu_hours(tmp_path: Path) -> None:
    def trained(gpus: int) -> tuple[float, float]:
        changes = {"experiments": {"pixels": {"training": {"parts": 4, "resources": {"gpus": gpus}}}}}
        works = sheet_of(configured(tmp_path, changes)).experiments["pixels"].work
        work = next(work for work in works if work.rule == "train")
        return work.hours(GPUS["A100"], 0.35), work.gpu_hours(GPUS["A100"], 0.35)

    (one, hours), (four, same) = trained(1), trained(4)
    assert (four, same) == pytest.approx((one / 4, hours))


def test_the_longest_shard_is_compared_with_the_limit(tmp_path: Path) -> None:
    sheet = sheet_of(configured(tmp_path, {}))
    longest = {work.longest for work in sheet.experiments["checkerboard"].work if work.rule == "sample"}
    assert longest == {3 * 20 / 110}  # six blocks of 20, the last of 10, over two shards


def test_bfloat16_takes_the_peak_of_the_gpu_that_has_it(tmp_path: Path) -> None:
    changes = {"experiments": {"pixels": {"training": {"precision": "bf16-mixed"}}}}
    works = sheet_of(configured(tmp_path, changes)).experiments["pixels"].work
    train, sample = (next(work for work in works if work.rule == rule) for rule in ("train", "sample"))
    assert train.gpu_hours(GPUS["A100"], 1) == pytest.approx(train.flops / 312e12 / 3600)
    assert train.gpu_hours(GPUS["V100"], 1) == pytest.approx(train.flops / 15.7e12 / 3600)
    assert sample.gpu_hours(GPUS["A100"], 1) == pytest.approx(sample.flops / 19.5e12 / 3600)


def test_a_data_set_that_does_not_tell_its_length_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pipeline.known.datasets.checkerboard.length")
    with pytest.raises(KinoflowError, match=r"known/datasets/checkerboard\.py does not say .* add length\(options\)"):
        sheet_of(configured(tmp_path, {}))


def test_finished_trainings_count_under_the_same_settings_and_in_one_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = configured(tmp_path, {})
    assert finished_trainings(config) == {}
    folder = tmp_path / "results/tiny"
    (folder / "benchmarks/train/checkerboard").mkdir(parents=True)
    (folder / "config.yaml").write_text((tmp_path / "tiny.yaml").read_text())
    (folder / "benchmarks/train/checkerboard/metric.tsv").write_text("s\th:m:s\n12.5\t0:00:12\n")
    assert finished_trainings(config) == {("checkerboard", "metric"): 12.5}
    (folder / "models/checkerboard").mkdir(parents=True)
    record = {"sha256": "", "inputs": {}, "seed": 0, "code": "", "command": [], "resumed": True}
    (folder / "models/checkerboard/metric.safetensors.provenance.json").write_text(json.dumps(record))
    assert finished_trainings(config) == {}
    (folder / "models/checkerboard/metric.safetensors.provenance.json").unlink()
    longer = configured(tmp_path, {"experiments": {"checkerboard": {"training": {"steps": 40}}}})
    assert finished_trainings(longer) == {}
