"""The judge of an experiment is there before hours are spent, or is found to be missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_language_model import save_language_model

from pipeline.config import Config
from pipeline.config.loading import merge
from pipeline.errors import KinoflowError
from pipeline.stages.job import Job
from pipeline.stages.judge import judge as judge_stage
from pipeline.store.provenance import file_hash

EXPERIMENT: dict[str, Any] = {
    "data": {"name": "text", "corpus": "sotu", "tokenizer": "bytes"},
    "model": {"name": "text_dit"},
    "runs": {
        "mask": {"path": {"name": "mask"}, "loss": "mixture_elbo", "model": {"name": "text_dit"}},
        "ar": {"path": None, "model": {"name": "text_autoregressive"}},
    },
}


def config(judge: Any, cache: Path = Path("none")) -> Config:
    scoring = {"scoring": {"generative_perplexity": {"judge": judge}}}
    tree = {"scale": "tiny", "data": {"cache": str(cache)}, "experiments": {"speech": merge(EXPERIMENT, scoring)}}
    return Config.model_validate_json(json.dumps(tree))


def test_a_judge_that_can_be_had_is_written_down_with_its_files(tmp_path: Path) -> None:
    model = save_language_model(tmp_path / "tiny")
    output = tmp_path / "judge.json"
    judge_stage(Job(config({"name": "transformers", "model": str(model), "window": 16}), "speech"), output=output)
    record = json.loads(output.read_text())
    assert (record["judge"], record["revision"]) == ("tiny", None)
    assert record["files"]["model.safetensors"] == file_hash(model / "model.safetensors")


def test_a_judge_that_cannot_be_had_leaves_no_record(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="smollm2"):
        judge_stage(Job(config("smollm2", tmp_path), "speech"), output=tmp_path / "judge.json")
    assert not (tmp_path / "judge.json").exists()


def test_a_run_that_judges_is_yet_to_be_trained(tmp_path: Path) -> None:
    judge_stage(Job(config({"name": "run", "run": "ar"}), "speech"), output=tmp_path / "judge.json")
    assert json.loads((tmp_path / "judge.json").read_text())["judge"] == "run ar"


def test_an_experiment_whose_samples_are_not_judged_has_no_judge_to_prepare(tmp_path: Path) -> None:
    tree = {"scale": "tiny", "experiments": {"speech": EXPERIMENT | {"scoring": {}}}}
    with pytest.raises(KinoflowError, match=r"experiments\.speech\.scoring: has no generative_perplexity"):
        judge_stage(Job(Config.model_validate_json(json.dumps(tree)), "speech"), output=tmp_path / "judge.json")
