"""The arithmetic that training chooses where the configuration leaves it open."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from small_problem import Problem

from pipeline.config import Training, TrainingResources
from pipeline.config.runs import Precision
from pipeline.errors import KinoflowError
from pipeline.training.arithmetic import chosen_compilation, chosen_precision, seconds_of
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
        training = Training(batch=24, parts=2)
        assert seconds_of(fabric, network, problem.objective, problem.data.train, training) > 0
    assert all(torch.equal(weights, before[name]) for name, weights in network.state_dict().items())


@pytest.mark.parametrize("precision", ["auto", "32-true", "tf32"])
def test_on_a_cpu_the_digits_of_products_stay_as_they_are(precision: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda value: pytest.fail("must not be changed"))
    fabric = new_fabric(Training(precision=precision), 0, "training.resources.gpus")
    assert fabric._precision.precision == "32-true"


def no_compiler(compiled: bool) -> float:
    raise RuntimeError("InvalidCxxCompiler: no working C++ compiler found\nset TORCHDYNAMO_VERBOSE=1")


@pytest.mark.parametrize(("compiled", "chosen"), [(0.5, True), (0.98, False), (1.4, False)])
def test_a_gpu_takes_a_compiled_network_only_if_it_is_clearly_faster(
    problem: Problem, compiled: float, chosen: bool
) -> None:
    seconds = {True: compiled, False: 1.0}
    training = Training(compile="auto", resources=TrainingResources(gpus=1))
    assert chosen_compilation(training, 1, problem.checkpoints(), seconds.__getitem__) == chosen


def test_without_a_compiler_auto_goes_on_and_true_says_what_to_do(
    problem: Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not chosen_compilation(Training(compile="auto"), 1, problem.checkpoints(), no_compiler)
    assert "no working C++ compiler" in capsys.readouterr().out
    with pytest.raises(KinoflowError, match=r"training\.compile = true: .*no working C\+\+ compiler found; set it to"):
        chosen_compilation(Training(compile=True), 0, problem.checkpoints(), no_compiler)


def test_on_a_cpu_auto_never_compiles(problem: Problem) -> None:
    assert not chosen_compilation(Training(compile="auto"), 0, problem.checkpoints(), no_compiler)


def test_a_training_that_is_taken_up_again_is_compiled_only_if_it_was_before(problem: Problem) -> None:
    problem.train(steps=4, compile=False)
    assert not chosen_compilation(
        Training(compile="auto", steps=9), 1, problem.checkpoints(), lambda compiled: -compiled
    )


def test_a_compiled_network_learns_the_same_up_to_rounding(tmp_path: Path) -> None:
    plain, compiled = (
        [row["loss"] for row in Problem(tmp_path / str(compile), dropout=0).train(steps=8, compile=compile).history]
        for compile in (False, True)
    )
    assert compiled == pytest.approx(plain, rel=1e-4)


def test_a_compiled_training_with_dropout_resumes_with_the_same_bits(problem: Problem, tmp_path: Path) -> None:
    options = {"compile": True, "validate_every": 4}
    whole = problem.train(steps=8, **options)
    stopped = Problem(tmp_path / "stopped")
    stopped.train(steps=4, **options)
    assert stopped.train(steps=8, **options).history == whole.history
