"""The configuration: what is refused, and how the refusal reads."""

import copy
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest
import yaml
from tiny import TINY, TINY_TEXT

from pipeline.config.loading import load_config, merge, parse_setting, with_types, write_config
from pipeline.config.problems import ConfigError

ROOT = Path(__file__).parents[1]
EXPERIMENT = "experiments.checkerboard"
RUN = f"{EXPERIMENT}.runs.mask_linear"

WRONG = [
    # an unknown key
    ("sede=1", "sede", "did you mean 'seed'"),
    ("data.cash=x", "data.cash", "did you mean 'cache'"),
    (f"{EXPERIMENT}.trainning={{}}", f"{EXPERIMENT}.trainning", "did you mean 'training'"),
    (f"{EXPERIMENT}.training.stepz=1", f"{EXPERIMENT}.training.stepz", "did you mean 'steps'"),
    (f"{EXPERIMENT}.training.resources.gpu=1", f"{EXPERIMENT}.training.resources.gpu", "did you mean 'gpus'"),
    (f"{EXPERIMENT}.sampling.corrector={{weight: 1, rize: 1}}", f"{EXPERIMENT}.sampling.corrector.rize", "'rise'"),
    (f"{EXPERIMENT}.data.level=8", f"{EXPERIMENT}.data.level", "did you mean 'levels'"),
    (f"{EXPERIMENT}.model.widht=8", f"{EXPERIMENT}.model.widht", "did you mean 'width'"),
    (f"{EXPERIMENT}.figure={{name: boards, dpj: 9}}", f"{EXPERIMENT}.figure.dpj", "did you mean 'dpi'"),
    (f"{EXPERIMENT}.scoring.likelihood_bound.point=1", f"{EXPERIMENT}.scoring.likelihood_bound.point", "'points'"),
    (f"{RUN}.path.schedular=linear", f"{RUN}.path.schedular", "did you mean 'scheduler'"),
    (f"{RUN}.path.lp=3", f"{RUN}.path.lp", "allowed: scheduler"),
    (f"{RUN}.training.stepz=1", f"{RUN}.training.stepz", "did you mean 'steps'"),
    # a wrong type
    ("seed=ten", "seed", "whole number"),
    ("seed=true", "seed", "whole number"),
    ("scale=7", "scale", "text"),
    (f"{EXPERIMENT}.training.steps=ten", f"{EXPERIMENT}.training.steps", "whole number"),
    (f"{EXPERIMENT}.training.steps=3.5", f"{EXPERIMENT}.training.steps", "whole number"),
    (f"{EXPERIMENT}.training.steps=true", f"{EXPERIMENT}.training.steps", "whole number"),
    (f"{EXPERIMENT}.training.steps=null", f"{EXPERIMENT}.training.steps", "whole number"),
    (f"{EXPERIMENT}.training.learning_rate=fast", f"{EXPERIMENT}.training.learning_rate", "number"),
    (f"{EXPERIMENT}.training.learning_rate=true", f"{EXPERIMENT}.training.learning_rate", "number"),
    (f"{EXPERIMENT}.training.betas=0.9", f"{EXPERIMENT}.training.betas", "list"),
    (f"{EXPERIMENT}.training=5", f"{EXPERIMENT}.training", "mapping"),
    (f"{EXPERIMENT}.model.width=1.5", f"{EXPERIMENT}.model.width", "whole number"),
    (f"{EXPERIMENT}.runs=[a]", f"{EXPERIMENT}.runs", "mapping"),
    (f"{RUN}=5", RUN, "mapping"),
    (f"{EXPERIMENT}.runs.metric.path.lp=two", f"{EXPERIMENT}.runs.metric.path.lp", "number"),
    (f"{EXPERIMENT}.runs.metric.path.lp=[1, two]", f"{EXPERIMENT}.runs.metric.path.lp", "or a list of numbers"),
    ("experiments={materials_calibration: {}}", "experiments.materials_calibration", "choose another"),
    # an autoregressive run, and crystals
    (f"{RUN}={{path: null, loss: cross_entropy}}", RUN, "remove the key"),
    (f"{RUN}={{path: null, loss: null}}", f"{RUN}.model.name", "is not autoregressive: give the run a path"),
    (f"{RUN}.loss=null", RUN, "loss: required key is missing"),
    (f"{RUN}.model={{name: crystal_autoregressive}}", f"{RUN}.model.name", "is autoregressive: set path: null"),
    (f"{EXPERIMENT}.crystals={{}}", f"{EXPERIMENT}.crystals", "'checkerboard' is not one of crystals; remove the key"),
    (f"{EXPERIMENT}.data={{name: mp20_part}}", f"{EXPERIMENT}.crystals", "required key is missing"),
    # an impossible value
    ("seed=-1", "seed", "at least 0"),
    ("data.order=[]", "data.order", "at least 1"),
    ("data.order=[pigeon]", "data.order.0", "allowed: embedded, package, address, mirror"),
    (f"{EXPERIMENT}.training.steps=0", f"{EXPERIMENT}.training.steps", "at least 1"),
    (f"{EXPERIMENT}.training.batch=0", f"{EXPERIMENT}.training.batch", "at least 1"),
    (f"{EXPERIMENT}.training.parts=5", f"{EXPERIMENT}.training", "multiple of parts"),
    (f"{EXPERIMENT}.training.learning_rate=0", f"{EXPERIMENT}.training.learning_rate", "more than 0"),
    (f"{EXPERIMENT}.training.learning_rate=.nan", f"{EXPERIMENT}.training.learning_rate", "finite"),
    (f"{EXPERIMENT}.training.ema=1", f"{EXPERIMENT}.training.ema", "less than 1"),
    (
        f"{EXPERIMENT}.training.precision=8-bit",
        f"{EXPERIMENT}.training.precision",
        "allowed: auto, 32-true, tf32, bf16-mixed",
    ),
    (f"{EXPERIMENT}.sampling.temperature=0", f"{EXPERIMENT}.sampling.temperature", "at least 0.0001"),
    (f"{EXPERIMENT}.sampling.frames=[0, 2]", f"{EXPERIMENT}.sampling.frames.1", "at most 1"),
    (f"{EXPERIMENT}.model.dropout=1.5", f"{EXPERIMENT}.model.dropout", "less than 1"),
    (f"{EXPERIMENT}.data.levels=9", f"{EXPERIMENT}.data", "multiple of squares"),
    (f"{EXPERIMENT}.runs.data={{path: {{name: mask}}, loss: cross_entropy}}", f"{EXPERIMENT}.runs.data", "taken"),
    (f"{EXPERIMENT}.runs.a-b={{path: {{name: mask}}, loss: cross_entropy}}", f"{EXPERIMENT}.runs.a-b", "letter"),
    (f"{EXPERIMENT}.runs.new={{loss: cross_entropy}}", f"{EXPERIMENT}.runs.new.path", "missing"),
    # a name that does not exist
    (f"{EXPERIMENT}.data.name=checkerbord", f"{EXPERIMENT}.data.name", "did you mean 'checkerboard'"),
    (f"{EXPERIMENT}.model.name=mpl", f"{EXPERIMENT}.model.name", "did you mean 'mlp'"),
    (f"{EXPERIMENT}.figure=board", f"{EXPERIMENT}.figure", "did you mean 'boards'"),
    (f"{EXPERIMENT}.scoring.known_distributions={{}}", f"{EXPERIMENT}.scoring.known_distributions", "unknown metric"),
    (f"{EXPERIMENT}.sampling.velocity=kinetic", f"{EXPERIMENT}.sampling.velocity", "kinetic_optimal"),
    (f"{EXPERIMENT}.sampling.step=exakt", f"{EXPERIMENT}.sampling.step", "did you mean 'exact'"),
    (f"{RUN}.path.name=maks", f"{RUN}.path.name", "did you mean 'mask'"),
    (f"{RUN}.path.scheduler=liner", f"{RUN}.path", "did you mean 'linear'"),
    (f"{RUN}.loss=cross_entrpy", f"{RUN}.loss", "did you mean 'cross_entropy'"),
    (f"{RUN}.sampling.velocity={{name: power, alpha: -1}}", f"{RUN}.sampling", "alpha"),
    # choices that do not go together
    (f"{EXPERIMENT}.runs.metric.loss=mixture_elbo", f"{EXPERIMENT}.runs.metric.loss", "not a mixture path"),
]


@pytest.mark.parametrize("setting, key, hint", WRONG, ids=[setting for setting, _, _ in WRONG])
def test_a_mistake_is_refused_with_its_key_and_what_to_do(
    tiny_file: Callable[..., Path], setting: str, key: str, hint: str
) -> None:
    path = tiny_file()
    with pytest.raises(ConfigError) as refused:
        load_config(path, [parse_setting(setting)])
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    lines = [line for line in message.splitlines() if re.match(rf"  {re.escape(key)}( =|:)", line)]
    assert len(lines) == 1, message
    assert hint in lines[0]


def test_an_experiment_without_runs_is_refused(tmp_path: Path) -> None:
    raw = copy.deepcopy(TINY)
    raw["experiments"]["checkerboard"]["runs"] = {}
    (tmp_path / "empty.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(ConfigError, match=r"experiments\.checkerboard\.runs: .*at least 1"):
        load_config(tmp_path / "empty.yaml")


def test_all_mistakes_are_listed_at_once(tiny_file: Callable[..., Path]) -> None:
    settings = ["sede=1", f"{EXPERIMENT}.training.steps=0", f"{EXPERIMENT}.model.widht=1", f"{RUN}.loss=x"]
    with pytest.raises(ConfigError) as refused:
        load_config(tiny_file(), map(parse_setting, settings))
    assert len(refused.value.problems) == len(settings)
    assert "4 problems" in str(refused.value)


def test_a_mistake_of_the_experiment_is_not_repeated_for_each_of_its_runs(tiny_file: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(tiny_file(), [parse_setting(f"{EXPERIMENT}.training.batch=0")])
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    "text, hint",
    [("a: 1\na: 2\n", "given twice"), ("a: [1", "not valid YAML"), ("- a\n", "must hold keys"), ("", "must hold keys")],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=hint):
        load_config(path)


def test_a_missing_file_is_refused_with_the_files_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no such file; there is .*demo\.yaml"):
        load_config(ROOT / "config" / "dem.yaml")


@pytest.mark.parametrize("setting", ["seed", "=1", "a..b=1", "seed=[1"])
def test_a_malformed_setting_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_setting(setting)


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scale_is_valid_and_named_for_its_file(path: Path) -> None:
    assert load_config(path).scale == path.stem


def test_a_run_takes_what_it_does_not_change_from_its_experiment(tiny_file: Callable[..., Path]) -> None:
    settings = [f"{EXPERIMENT}.training.steps=7", f"{RUN}.training.batch=64", "seed=3", f"{RUN}.seed=5"]
    runs = load_config(tiny_file(), map(parse_setting, settings)).experiments["checkerboard"].runs
    assert (runs["mask_linear"].training.steps, runs["mask_linear"].training.batch) == (7, 64)
    assert (runs["metric"].training.steps, runs["metric"].training.batch) == (7, 32)
    assert (runs["mask_linear"].seed, runs["metric"].seed) == (5, 3)


def test_a_choice_of_another_name_replaces_all_options_of_the_old_one() -> None:
    base = {"path": {"name": "metric", "lp": 3}}
    assert merge(base, {"path": {"name": "mask"}}) == {"path": {"name": "mask"}}
    assert merge(base, {"path": {"name": "metric", "a": 2}}) == {"path": {"name": "metric", "lp": 3, "a": 2}}


def test_numbers_in_scientific_notation_are_numbers(tiny_file: Callable[..., Path]) -> None:
    config = load_config(tiny_file(), [parse_setting(f"{EXPERIMENT}.training.learning_rate=5e-4")])
    assert config.experiments["checkerboard"].training.learning_rate == 5e-4


def test_texts_from_the_command_line_get_their_types() -> None:
    given = {"a": {"b": "5", "c": ["true", "x"]}, "d": "0.5", "e": "two words: 1"}
    assert with_types(given) == {"a": {"b": 5, "c": [True, "x"]}, "d": 0.5, "e": "two words: 1"}


def test_a_configuration_cannot_be_changed(tiny_file: Callable[..., Path]) -> None:
    config = load_config(tiny_file())
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        config.seed = 1  # type: ignore[misc]


def test_a_written_configuration_is_read_back_the_same(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    config = load_config(tiny_file())
    write_config(tmp_path / "copy.yaml", config)
    assert load_config(tmp_path / "copy.yaml") == config


def test_the_structure_is_checked_without_importing_torch() -> None:
    code = (
        "import sys; from pathlib import Path; from pipeline.config.loading import load_config;"
        "load_config(Path('config/demo.yaml'), choices=False); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    "judge, problem",
    [
        ({"name": "run", "run": "mask_ko"}, '.judge.run = "mask_ko": no autoregressive run (path: null); allowed: ar'),
        ({"name": "run"}, ".judge: run.run: is missing; add it"),
        ("smolm2", ".judge: unknown judge 'smolm2'; did you mean 'smollm2'?"),
        ({"name": "smollm2", "windw": 5}, "windw"),
    ],
)
def test_a_judge_that_cannot_judge_is_found_before_any_job(
    tiny_file: Callable[..., Path], judge: Any, problem: str
) -> None:
    text = TINY_TEXT | {"scoring": {"generative_perplexity": {"judge": judge}}}
    with pytest.raises(ConfigError) as error:
        load_config(tiny_file({"experiments": {"text": text}}))
    assert problem in str(error.value)


def test_a_judge_is_for_text_only(tiny_file: Callable[..., Path]) -> None:
    scoring = {"generative_perplexity": {"judge": "smollm2"}}
    with pytest.raises(ConfigError, match="'checkerboard' is not one of text"):
        load_config(tiny_file({"experiments": {"checkerboard": {"scoring": scoring}}}))


def test_scores_need_a_scheduler_that_is_the_same_for_tokens_of_different_frequency(
    tiny_file: Callable[..., Path],
) -> None:
    run = {"path": {"name": "statistics", "scheduler": "kinetic_optimal"}, "loss": "score_entropy"}
    with pytest.raises(ConfigError, match="a concrete score needs"):
        load_config(tiny_file({"experiments": {"checkerboard": {"runs": {"x": run}}}}))
