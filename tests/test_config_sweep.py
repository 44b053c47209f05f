"""Runs that draw samples with another run's network: written out, or made by a sweep."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loading import load_config, write_config
from pipeline.config.problems import ConfigError

AT = "experiments.checkerboard"


def changed(**experiment: Any) -> dict[str, Any]:
    return {"experiments": {"checkerboard": experiment}}


def test_a_sweep_makes_a_run_for_each_value_with_the_network_of_each_run(tiny_file: Callable[..., Path]) -> None:
    config = load_config(tiny_file(changed(sweep=[{"steps": [2, 8]}, {"temperature": [0.7]}])))
    runs = config.experiments["checkerboard"].runs
    swept = [f"{run}_steps_{steps}" for run in ("mask_linear", "metric") for steps in (2, 8)]
    swept += [f"{run}_temperature_0_7" for run in ("mask_linear", "metric")]
    assert set(runs) == {"mask_linear", "metric", *swept}
    one = runs["metric_steps_8"]
    assert (one.weights, one.sampling.steps, one.sampling.temperature) == ("metric", 8, 1.0)
    assert one.sampling.block == runs["metric"].sampling.block
    assert (one.path, one.loss, one.training) == (runs["metric"].path, runs["metric"].loss, runs["metric"].training)


def test_a_sweep_of_several_values_makes_all_combinations_for_the_runs_that_it_names(
    tiny_file: Callable[..., Path],
) -> None:
    sweep = {"runs": ["metric"], "steps": [2, 8], "velocity": ["campbell", {"name": "power", "alpha": 3.0}]}
    runs = load_config(tiny_file(changed(sweep=sweep))).experiments["checkerboard"].runs
    names = ("campbell", "power_alpha_3")
    swept = {f"metric_steps_{steps}_velocity_{name}" for steps in (2, 8) for name in names}
    assert set(runs) == {"mask_linear", "metric", *swept}
    one = runs["metric_steps_8_velocity_power_alpha_3"].sampling
    assert (one.steps, one.velocity.name, one.velocity.options) == (8, "power", {"alpha": 3.0})


def test_a_configuration_that_was_written_with_its_sweep_is_read_as_it_was(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    sweep = {"velocity": ["campbell"], "guidance": [1], "temperature": [2, 0.5], "steps": [2]}  # in another order
    config = load_config(tiny_file(changed(sweep=sweep)))
    assert "metric_steps_2_velocity_campbell_temperature_2_guidance_1" in config.experiments["checkerboard"].runs
    write_config(tmp_path / "written.yaml", config)
    assert load_config(tmp_path / "written.yaml") == config


def test_autoregressive_runs_have_no_steps_to_sweep(tiny_file: Callable[..., Path]) -> None:
    ar = {"path": None, "model": {"name": "text_autoregressive", "width": 8, "heads": 2, "depth": 1}}
    file = tiny_file(changed(sweep=[{"steps": [2]}, {"temperature": [2.0]}], runs={"ar": ar}))
    runs = load_config(file).experiments["checkerboard"].runs
    assert "ar_steps_2" not in runs
    assert runs["ar_temperature_2"].path is None


@pytest.mark.parametrize(
    "runs, problem",
    [
        ({"x": {"weights": "metrik"}}, f'{AT}.runs.x.weights = "metrik": no run with weights of its own; did you mean'),
        (
            {"x": {"weights": "y"}, "y": {"weights": "metric"}},
            f'{AT}.runs.x.weights = "y": no run with weights of its own',
        ),
        (
            {"x": {"weights": "metric", "training": {"steps": 5}}},
            f"{AT}: runs.x.training: 'metric' decides how it is trained; remove the key",
        ),
        ({"x": {"weights": "metric", "seed": 5}}, f"{AT}: runs.x.seed: 'metric' decides how it is trained"),
    ],
)
def test_weights_that_are_not_there_and_keys_without_effect_are_refused(
    tiny_file: Callable[..., Path], runs: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(tiny_file(changed(runs=runs)))
    assert problem in str(error.value)


def test_a_network_that_is_not_told_the_time_needs_a_path_that_can_do_without(tiny_file: Callable[..., Path]) -> None:
    blind = {"name": "text_dit", "width": 8, "heads": 2, "depth": 1, "time": False}
    load_config(tiny_file(changed(runs={"mask_linear": {"model": blind}})))
    with pytest.raises(
        ConfigError, match=r"runs\.metric\.model\.time = false: the posterior of the path 'metric' depends"
    ):
        load_config(tiny_file(changed(runs={"metric": {"model": blind}})))


def test_steps_and_correctors_are_swept(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    sweep = {"runs": ["metric"], "step": ["euler"], "corrector": [0, 1.5, {"weight": 1, "rise": 2}]}
    runs = load_config(tiny_file(changed(sweep=sweep))).experiments["checkerboard"].runs
    added = {name: run.sampling for name, run in runs.items() if run.weights}
    assert list(added) == [f"metric_step_euler_corrector_{word}" for word in ("0", "1_5", "weight_1_rise_2")]
    none, weight, whole = added.values()
    assert none.corrector is None
    assert weight.corrector is not None
    assert (weight.corrector.weight, weight.corrector.rise, weight.step.name) == (1.5, 1.0, "euler")
    assert whole.corrector is not None
    assert (whole.corrector.weight, whole.corrector.rise) == (1.0, 2.0)
    config = load_config(tiny_file(changed(sweep=sweep)))
    write_config(tmp_path / "written.yaml", config)
    assert load_config(tmp_path / "written.yaml", [{"seed": 0}]) == config  # expanded again


def test_a_swept_corrector_replaces_that_of_the_experiment(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    own = {"sampling": {"corrector": {"weight": 3, "rise": 4}}, "sweep": {"runs": ["metric"], "corrector": [0, 2]}}
    config = load_config(tiny_file(changed(**own)))
    runs = config.experiments["checkerboard"].runs
    assert runs["metric_corrector_0"].sampling.corrector is None
    swept = runs["metric_corrector_2"].sampling.corrector
    assert swept is not None
    assert (swept.weight, swept.rise) == (2, 1)
    write_config(tmp_path / "written.yaml", config)
    assert load_config(tmp_path / "written.yaml") == config
