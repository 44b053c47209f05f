"""Checkpoints: a damaged one is passed over, and the last step is never skipped."""

from pathlib import Path

import pytest
import torch

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


def test_a_checkpoint_of_the_last_step_is_not_taken_up_so_that_it_is_run_and_measured(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "fingerprint")
    checkpoints.save(40, {})
    checkpoints.save(50, {})
    state = checkpoints.latest(50)
    assert state is not None
    assert state["step"] == 40
