"""Checkpoints: a damaged one is passed over, and the last step is never skipped."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.crystals.checkpoints import only_weights
from pipeline.errors import KinoflowError
from pipeline.images.extractor import loaded
from pipeline.training.checkpoint import Checkpoints


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    checkpoints.save(10, {"network": torch.ones(2)})
    checkpoints.save(20, {"network": torch.zeros(2)}).write_bytes(b"PK half a file")
    state = checkpoints.latest(100)
    assert state is not None
    assert state["step"] == 10
    assert "step-000000020.pt cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize("content", [torch.ones(2), {"network": torch.ones(2)}, {"step": "20"}])
def test_a_file_of_tensors_that_is_no_checkpoint_is_passed_over(tmp_path: Path, content: Any) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    checkpoints.save(10, {})
    torch.save(content, checkpoints.save(20, {}))
    state = checkpoints.latest(100)
    assert state is not None
    assert state["step"] == 10


def test_those_of_a_longer_training_do_not_push_out_the_ones_that_are_written_now(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    for step in (900, 1000, 100, 200, 300):
        checkpoints.save(step, {})
    assert [int(path.stem.removeprefix("step-")) for path in checkpoints.paths()] == [200, 300, 900, 1000]
    state = checkpoints.latest(500)
    assert state is not None
    assert state["step"] == 300


def test_what_a_kill_left_of_a_checkpoint_is_removed_with_the_next(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    checkpoints.save(1, {})
    torn = checkpoints.folder / ".step-000000002.pt.1-ab.tmp"
    torn.write_bytes(b"half")
    checkpoints.save(3, {})
    assert not torn.exists()


def test_a_checkpoint_of_the_last_step_is_not_taken_up_so_that_it_is_run_and_measured(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    checkpoints.save(40, {})
    checkpoints.save(50, {})
    state = checkpoints.latest(50)
    assert state is not None
    assert state["step"] == 40


class Malicious:
    """What runs a command when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.made}",)


def test_a_malicious_file_is_not_run_and_the_message_says_not_to_trust_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints, made = Checkpoints(tmp_path / "checkpoints", "fingerprint"), tmp_path / "made"
    path = checkpoints.save(10, {"network": Malicious(made)})
    assert checkpoints.latest(100) is None
    with pytest.raises(KinoflowError, match="Do not trust this file"), only_weights():
        torch.load(path, weights_only=False)
    with pytest.raises(KinoflowError, match="Do not trust this file") as refused:
        loaded(torch.nn.Linear(1, 1), path, "a network")
    assert str(path) in str(refused.value)
    shown = capsys.readouterr().out
    assert f"{path} cannot be read" in shown
    assert "Do not trust this file" in shown
    assert "weights_only" not in shown + str(refused.value)
    assert not made.exists()
