"""What the console says of a run: counted jobs, finished stages, time left, failures."""

from pathlib import Path

import pytest

from pipeline.inspect.benchmarks import seconds_of
from snakemake_logger_plugin_kinoflow.console import LAST_LINES, Plan, Planned, Tally, last_lines, span

PREPARE, FIRST, SECOND, FIGURE = 1, 2, 3, 4


def tally(figure_seconds: float | None = None) -> Tally:
    jobs = {
        PREPARE: Planned("prepare", "board"),
        FIRST: Planned("train", "board/a"),
        SECOND: Planned("train", "board/b"),
        FIGURE: Planned("figure", "board", figure_seconds),
    }
    return Tally(Plan("Kinoflow", "run.log", jobs))


def test_a_stage_is_said_once_all_its_jobs_are_finished() -> None:
    run = tally()
    run.start(PREPARE, 0)
    assert run.finish(PREPARE, 4) == "[1/4] prepare: 1 job, 4 s"
    run.start(FIRST, 4)
    assert run.finish(FIRST, 34) is None
    run.start(SECOND, 34)
    assert run.finish(SECOND, 74) == "[3/4] train: 2 jobs, 70 s"
    run.start(FIGURE, 74)
    assert run.finish(FIGURE, 76) == "[4/4] figure: 1 job, 2 s"


def test_the_time_left_is_at_least_that_of_the_stages_that_were_measured() -> None:
    run = tally()
    run.start(FIRST, 0)
    assert run.left(0) == (0, True)
    run.finish(FIRST, 30)
    assert run.left(30) == (30, True)  # the other training; nothing is known of prepare and figure
    run.start(SECOND, 30)
    assert run.left(40) == (20, True)
    assert run.progress(40) == "[1/4] at least 20 s left | train board/b"


def test_seconds_of_the_last_time_are_used_before_anything_has_finished() -> None:
    assert tally(figure_seconds=50).left(0) == (50, True)
    run = tally(figure_seconds=50)
    for job in (PREPARE, FIRST, SECOND):
        run.start(job, 0)
        run.finish(job, 1)
    assert run.left(1) == (50, False)
    assert run.progress(1) == "[3/4] about 50 s left | starting"


def test_jobs_that_run_at_once_share_the_time_left() -> None:
    run = tally(figure_seconds=60)
    run.start(FIRST, 0)
    run.start(SECOND, 0)
    assert run.left(0) == (30, True)


def test_a_failure_is_news_once_and_again_after_another_try() -> None:
    run = tally()
    run.start(FIRST, 0)
    assert run.fail(FIRST)
    assert not run.fail(FIRST)
    run.start(FIRST, 5)
    assert not run.failed
    assert run.fail(FIRST)


def test_jobs_that_the_plan_does_not_have_change_nothing() -> None:
    run = tally()
    run.start(99, 0)
    assert run.finish(99, 3) is None
    assert (run.running, run.finished) == ({}, {})


@pytest.mark.parametrize("seconds, text", [(3.2, "3 s"), (99, "99 s"), (720, "12 min"), (9000, "2.5 h")])
def test_times_are_said_in_words(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_the_last_lines_of_a_log_are_shown_or_why_not(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    assert last_lines(str(log)) == [f"{log}: No such file or directory"]
    log.touch()
    assert last_lines(str(log)) == [f"{log} is empty"]
    log.write_text("".join(f"line {number}\n" for number in range(50)))
    assert last_lines(str(log)) == [f"line {number}" for number in range(50 - LAST_LINES, 50)]


def test_the_seconds_of_a_job_are_those_of_its_benchmark(tmp_path: Path) -> None:
    assert seconds_of(tmp_path / "none.tsv") is None
    (tmp_path / "job.tsv").write_text("s\tmax_rss\n12.5\t80\n")
    assert seconds_of(tmp_path / "job.tsv") == 12.5
