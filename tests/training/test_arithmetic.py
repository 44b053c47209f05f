"""The arithmetic that training chooses where the configuration leaves it open."""

from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from small_problem import Problem

from pipeline.config import Training, TrainingResources
from pipeline.config.runs import Precision
from pipeline.training.arithmetic import chosen_precision, seconds_of
from pipeline.training.processes import new_fabric

AUTO = Training(precision="auto")


def never(precision: Precision) -> float:
    raise AssertionError("nothing to measure")


@pytest.fixture
def modern_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **given: True)


@pytest.mark.usefixtures("modern_gpu")
def test_what_is_configured_is_taken(problem: Problem) -> None:
    for precision in ("32-true", "tf32", "bf16-mixed"):
        training = Training(precision=precision)
        assert chosen_precision(training, 1, problem.checkpoints(), never) == precision


@pytest.mark.usefixtures("modern_gpu")
def test_a_cpu_always_computes_in_float32(problem: Problem) -> None:
    assert chosen_precision(AUTO, 0, problem.checkpoints(), never) == "32-true"


def test_a_gpu_without_bfloat16_computes_in_float32(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **given: False)
    assert chosen_precision(AUTO, 1, problem.checkpoints(), never) == "32-true"


@pytest.mark.usefixtures("modern_gpu")
@pytest.mark.parametrize(("bf16", "chosen"), [(0.5, "bf16-mixed"), (0.98, "tf32"), (1.4, "tf32")])
def test_a_gpu_takes_bfloat16_only_if_it_is_clearly_faster(problem: Problem, bf16: float, chosen: str) -> None:
    seconds: dict[str, float] = {"bf16-mixed": bf16, "tf32": 1.0}
    assert chosen_precision(AUTO, 1, problem.checkpoints(), seconds.__getitem__) == chosen


@pytest.mark.usefixtures("modern_gpu")
def test_several_gpus_need_not_agree_on_times(problem: Problem) -> None:
    training = Training(precision="auto", parts=2, resources=TrainingResources(gpus=2))
    assert chosen_precision(training, 2, problem.checkpoints(), never) == "bf16-mixed"


@pytest.mark.usefixtures("modern_gpu")
def test_a_training_that_is_taken_up_again_keeps_its_arithmetic(problem: Problem) -> None:
    problem.train(steps=4, precision="32-true")
    assert chosen_precision(Training(precision="auto", steps=9), 1, problem.checkpoints(), never) == "32-true"


def test_a_few_steps_of_a_copy_are_measured_and_the_network_stays(problem: Problem) -> None:
    network = problem.network()
    before = {name: weights.clone() for name, weights in network.state_dict().items()}
    for precision in ("32-true", "bf16-mixed"):
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision)  # type: ignore[arg-type]
        assert seconds_of(fabric, network, problem.objective, problem.data.train, 24, 2) > 0
    assert all(torch.equal(weights, before[name]) for name, weights in network.state_dict().items())


@pytest.mark.parametrize("precision", ["auto", "32-true", "tf32"])
def test_on_a_cpu_the_digits_of_products_stay_as_they_are(precision: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda value: pytest.fail("must not be changed"))
    fabric = new_fabric(Training(precision=precision), 0, "training.resources.gpus")
    assert fabric._precision.precision == "32-true"
