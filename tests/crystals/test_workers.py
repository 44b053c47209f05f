"""Worker processes: what goes wrong in one is a reason, and none is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import worker_tasks

from pipeline.crystals import workers
from pipeline.crystals.workers import ONE_THREAD, Outcome, run_tasks
from pipeline.errors import KinoflowError
from pipeline.store.journal import Journal


def outcomes(function: Callable[..., Any], items: list[Any], **options: Any) -> dict[int, Outcome[Any]]:
    given = {"workers": 2, "seconds": 60, "label": "testing"} | options
    return dict(run_tasks(function, items, **given))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def test_every_item_has_its_own_outcome_whatever_the_order() -> None:
    found = outcomes(worker_tasks.double, list(range(7)))
    assert found == {item: Outcome(2 * item, "") for item in range(7)}


def test_no_items_start_no_worker() -> None:
    assert outcomes(worker_tasks.double, [], initialise=worker_tasks.not_loaded) == {}


def test_what_initialise_returns_is_the_first_argument() -> None:
    assert outcomes(worker_tasks.add, [1, 2], initialise=worker_tasks.loaded)[1].value == 102


def test_what_goes_wrong_in_a_task_is_its_reason_and_the_others_are_done() -> None:
    items = ["raise", "fine", "killed", "fine", "exit", "raise silently", "unsendable", "fine"]
    found = outcomes(worker_tasks.obey, items)
    reasons = {items[position]: outcome.reason for position, outcome in found.items()}
    assert reasons.pop("unsendable").startswith("failed: ")
    assert reasons == {
        "fine": "",
        "raise": "failed: ValueError: first line",
        "raise silently": "failed: ValueError",
        "killed": "failed: worker died (signal 9)",
        "exit": "failed: worker died (exit code 3)",
    }
    assert all((outcome.value is None) == (outcome.reason != "") for outcome in found.values())


def test_a_task_over_its_time_is_ended_and_its_worker_replaced() -> None:
    found = outcomes(worker_tasks.obey, ["sleep", "fine"], workers=1, seconds=0.5)
    assert found[0] == Outcome(None, "time limit (0.5 s)")
    assert found[1].reason == ""


def test_a_worker_serves_several_tasks() -> None:
    found = outcomes(worker_tasks.obey, ["fine"] * 3, workers=1)
    assert len({outcome.value for outcome in found.values()}) == 1


def test_a_worker_has_one_thread_and_the_parent_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "5")
    monkeypatch.delenv("MKL_NUM_THREADS")
    assert outcomes(worker_tasks.threads, [0])[0].value == ("1", 1)
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("initialise", "message"),
    [(worker_tasks.not_loaded, "OSError: no such weights"), (worker_tasks.dies, "exit code 7")],
)
def test_a_worker_that_cannot_start_is_an_error_of_the_stage(initialise: Callable[[], int], message: str) -> None:
    with pytest.raises(KinoflowError, match=f"testing: a worker process cannot start .*{message}"):
        outcomes(worker_tasks.add, [1, 2], initialise=initialise)


def test_a_worker_that_is_not_ready_in_time_is_an_error_of_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_SECONDS", 0.5)
    with pytest.raises(KinoflowError, match=r"testing: a worker process cannot start \(not ready after 0.5 s\)"):
        outcomes(worker_tasks.add, [1, 2], initialise=worker_tasks.never_loaded)


def test_no_worker_is_left_when_the_consumer_stops() -> None:
    tasks = run_tasks(worker_tasks.obey, ["fine", "sleep", "sleep"], workers=2, seconds=600, label="testing")
    _, first = next(tasks)
    tasks.close()  # type: ignore[attr-defined]
    assert not is_running(first.value)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_is_left_when_the_parent_is_ended_by_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    program = [sys.executable, worker_tasks.__file__, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    with subprocess.Popen(program, env=environment, stderr=subprocess.DEVNULL) as parent:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        marks = [int(path.name) for path in tmp_path.iterdir()]
        assert all(is_running(mark) for mark in marks)
        parent.send_signal(number)
        assert parent.wait(timeout=30) != 0
    wait_until(lambda: not any(is_running(mark) for mark in marks))


def test_a_signal_to_all_processes_of_a_job_does_not_end_the_workers_before_their_parent() -> None:
    tasks = run_tasks(worker_tasks.obey, ["fine", "fine"], workers=1, seconds=60, label="testing")
    _, first = next(tasks)
    os.kill(first.value, signal.SIGTERM)
    os.kill(first.value, signal.SIGINT)
    _, second = next(tasks)
    assert second == first


def test_a_task_whose_worker_was_killed_is_tried_once_more(tmp_path: Path) -> None:
    """So that what kills it from outside, or a neighbour that takes all memory, is no property of the crystal."""
    items = [f"killed before {tmp_path / 'mark'}", "fine", "killed"]
    found = outcomes(worker_tasks.obey, items)
    assert [found[number].reason for number in range(3)] == ["", "", "failed: worker died (signal 9)"]


def test_when_all_workers_die_not_every_task_is_tried_again(tmp_path: Path) -> None:
    found = outcomes(worker_tasks.obey, [f"killed and counted in {tmp_path / 'tries'}"] * 6)
    assert {outcome.reason for outcome in found.values()} == {"failed: worker died (signal 9)"}
    assert len(found) == 6
    assert len((tmp_path / "tries").read_text().splitlines()) == 6 + 3


def test_finished_tasks_are_kept_and_one_whose_worker_died_is_tried_again(tmp_path: Path) -> None:
    def run(items: list[str]) -> dict[int, Outcome[Any]]:
        journal = Journal(tmp_path, "these")
        return dict(run_tasks(worker_tasks.obey, items, finished=journal, workers=1, seconds=60, label="testing"))

    first = run(["fine", "killed", "raise"])
    assert first[1].reason.startswith("failed: worker died")
    assert set(Journal(tmp_path, "these").entries) == {"testing 0", "testing 2"}
    again = run(["raise", "fine", "fine"])  # what is kept is not done again, whatever it would give now
    assert (again[0], again[2]) == (first[0], first[2])
    assert again[1].reason == ""
