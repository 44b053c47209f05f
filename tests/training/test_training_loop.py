"""The training loop: going on after a stop, its guards, and what it reports."""

import math
import os
import re
import signal

import pytest
import torch
from small_problem import Problem
from torch import Tensor

from pipeline.training.loop import Fitted, Interrupted, TrainingError


def assert_same(one: Fitted, other: Fitted) -> None:
    for name, weights in one.network.state_dict().items():
        assert torch.equal(weights, other.network.state_dict()[name]), name
    assert one.history == other.history


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_training_that_is_stopped_and_taken_up_again_gives_the_same_bits(problem: Problem, number: int) -> None:
    def stop(losses: Tensor) -> Tensor:
        os.kill(os.getpid(), number)
        return losses

    with pytest.raises(Interrupted, match="stopped after step 13"):
        problem.train(problem.disturbed(13, stop))
    assert [path.name for path in problem.checkpoints().paths()] == ["step-000000013.pt"]
    assert_same(problem.train(), problem.train(fingerprint="never stopped"))


def test_a_second_sigterm_does_not_keep_training_from_its_checkpoint(problem: Problem) -> None:
    """SLURM sends two at a time limit."""

    def stop(losses: Tensor) -> Tensor:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
        return losses

    with pytest.raises(Interrupted, match="stopped after step 13"):
        problem.train(problem.disturbed(13, stop))
    assert [path.name for path in problem.checkpoints().paths()] == ["step-000000013.pt"]


def test_a_second_interrupt_stops_training_at_once(problem: Problem) -> None:
    def stop(losses: Tensor) -> Tensor:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        return losses

    with pytest.raises(KeyboardInterrupt):
        problem.train(problem.disturbed(13, stop))


def test_training_goes_on_from_the_last_checkpoint_after_a_kill(problem: Problem) -> None:
    def die(losses: Tensor) -> Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        problem.train(problem.disturbed(16, die), checkpoint_every=7)
    counted = problem.disturbed(0, die)
    assert_same(problem.train(counted), problem.train(fingerprint="never stopped"))
    assert counted.batches == 20 - 14


def test_only_the_last_two_checkpoints_are_kept(problem: Problem) -> None:
    problem.train(checkpoint_every=3)
    assert [path.name for path in problem.checkpoints().paths()] == ["step-000000018.pt", "step-000000020.pt"]


def test_checkpoints_of_other_settings_are_not_taken_up(problem: Problem) -> None:
    problem.train(checkpoint_every=10, fingerprint="other")
    counted = problem.disturbed(0, torch.clone)
    problem.train(counted)
    assert counted.batches == 20


def test_a_checkpoint_beyond_the_asked_steps_is_not_taken_up(problem: Problem) -> None:
    problem.train(steps=20, checkpoint_every=15)
    assert_same(problem.train(steps=10), problem.train(steps=10, fingerprint="never longer"))


def test_divergence_stops_with_the_fix_and_keeps_the_last_good_checkpoint(problem: Problem) -> None:
    with pytest.raises(TrainingError, match=r"step 9: loss nan.*training\.learning_rate.*step-000000008\.pt"):
        problem.train(problem.disturbed(9, lambda losses: losses * float("nan")), checkpoint_every=4)
    state = problem.checkpoints().latest(20)
    assert state is not None
    assert state["step"] == 8
    assert all(bool(weights.isfinite().all()) for weights in state["network"].values())


def test_a_batch_in_parts_has_the_gradient_of_the_whole(problem: Problem) -> None:
    def seen(parts: int) -> dict[str, float | None]:
        deterministic = problem.disturbed(0, torch.clone)
        deterministic.objective = lambda network, x1, generator: network.eval()(x1, torch.zeros(len(x1))).square()  # type: ignore[assignment]
        return problem.train(deterministic, steps=1, parts=parts, log_every=1, fingerprint=str(parts)).history[0]

    whole, parts = seen(1), seen(4)
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert parts["gradient_norm"] == pytest.approx(whole["gradient_norm"], rel=1e-5)


def test_the_history_has_the_losses_and_the_warm_up(problem: Problem) -> None:
    history = problem.train(learning_rate=0.01, warmup=8).history
    assert [row["step"] for row in history] == [4, 8, 10, 12, 16, 20]
    assert [row["learning_rate"] for row in history] == pytest.approx([0.005, 0.01, 0.01, 0.01, 0.01, 0.01])
    assert [row["validation_loss"] is not None for row in history] == [False, False, True, False, False, True]


@pytest.mark.parametrize(
    ("decay", "expected"), [("linear", [0.005, 0.01, 0.0092, 0.0075, 0.0042, 0.0008]), ("cosine", None)]
)
def test_a_decayed_learning_rate_falls_to_zero(problem: Problem, decay: str, expected: list[float] | None) -> None:
    rates = [row["learning_rate"] for row in problem.train(learning_rate=0.01, warmup=8, decay=decay).history]
    if expected is None:
        expected = [0.005, 0.01, *(0.005 * (1 + math.cos(math.pi * done / 12)) for done in (1, 3, 7, 11))]
    assert rates == pytest.approx(expected, abs=1e-4)


def test_training_lowers_the_validation_loss(problem: Problem) -> None:
    history = problem.train(steps=150, learning_rate=0.01, validate_every=50).history
    losses = [row["validation_loss"] for row in history if row["validation_loss"] is not None]
    assert losses[-1] < losses[0] - 0.05


def test_without_averaging_the_last_weights_are_given(problem: Problem) -> None:
    plain, averaged = problem.train(ema=0.0), problem.train(ema=0.99, fingerprint="averaged")
    assert plain.history[-1]["loss"] == averaged.history[-1]["loss"]
    assert plain.history[-1]["validation_loss"] != averaged.history[-1]["validation_loss"]
    with pytest.raises(Interrupted):
        problem.train(problem.disturbed(20 - 1, _terminate), ema=0.0, fingerprint="stopped")
    state = problem.checkpoints("stopped").latest(20)
    assert state is not None
    assert torch.equal(state["network"]["head.bias"], state["average"]["module.head.bias"])


def _terminate(losses: Tensor) -> Tensor:
    os.kill(os.getpid(), signal.SIGTERM)
    return losses


def test_a_loss_that_ends_far_above_its_start_is_a_warning_also_after_a_stop(
    problem: Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    assert problem.train().warning == ""
    at_once = problem.train(fingerprint="b", learning_rate=1e3)
    assert re.fullmatch(r"the loss rose from 2\.\d+ to \S+e\+\d+", at_once.warning)
    assert f"warning: {at_once.warning}; lower training.learning_rate (1000.0)" in capsys.readouterr().out

    def stop(losses: Tensor) -> Tensor:
        os.kill(os.getpid(), signal.SIGTERM)
        return losses

    with pytest.raises(Interrupted):
        problem.train(problem.disturbed(13, stop), fingerprint="c", learning_rate=1e3)
    assert problem.train(fingerprint="c", learning_rate=1e3).warning == at_once.warning
