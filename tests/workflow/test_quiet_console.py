"""The console of a run: few lines, and everything in the log file."""

import os
import pty
import re
import sys

import pytest
import yaml
from project import ROOT, Project

RUN = (sys.executable, "-m", "snakemake", "--cores", "2", "--config", "scale=tiny")
RULE = re.compile(r"^(?:rule|use rule \w+ as) (\w+)", re.MULTILINE)
STAGE = re.compile(r"\[ *\d+/18\] \w+: \d+ jobs?, \d+ s(; (at least|about) .* left)?")


def logged(project: Project) -> str:
    """Return Snakemake's log file of the last run."""
    return max((project.folder / ".snakemake/log").iterdir()).read_text()


def on_a_terminal(project: Project, *arguments: str) -> str:
    """Return what a run shows on a terminal."""
    shown = bytearray()

    child, file = pty.fork()
    if child == 0:
        os.chdir(project.folder)
        os.execve(sys.executable, [*RUN, *arguments], os.environ | {"COLUMNS": "100", "TERM": "xterm"})
    try:
        while data := os.read(file, 1024):
            shown.extend(data)
    except OSError:  # the terminal was closed
        pass
    os.waitpid(child, 0)
    return shown.decode()


@pytest.fixture(scope="module")
def shown(project: Project) -> list[str]:
    """The lines of a first run that are shown when they are piped."""
    run = project.run(*RUN)
    assert run.returncode == 0, run.stdout
    return run.stdout.splitlines()


def test_there_is_one_line_per_stage_and_nothing_else(shown: list[str]) -> None:
    profile, start, *stages = shown
    assert profile.startswith("Using workflow specific profile")
    assert start.startswith("Kinoflow, scale tiny: 18 jobs; everything is in .snakemake/log/")
    assert all(map(STAGE.fullmatch, stages)), stages
    names = [line.partition("] ")[2].partition(":")[0] for line in stages]
    assert sorted(names) == [
        *("figure", "gather", "prepare", "reference", "report_page", "sample", "score", "table", "train")
    ]
    assert "\x1b" not in "".join(shown)


def test_no_run_can_have_more_than_100_lines() -> None:
    rules = {name for file in (ROOT / "workflow/rules").glob("*.smk") for name in RULE.findall(file.read_text())}
    assert 30 < len(rules) < 90


def test_the_log_file_has_every_job(shown: list[str], project: Project) -> None:
    named = re.search(r"everything is in (\S+),", shown[1])
    assert named is not None
    assert len(re.findall(r"^(?:local)?rule \w+:$", (project.folder / named[1]).read_text(), re.MULTILINE)) == 19


def test_nothing_to_do_is_said(shown: list[str], project: Project) -> None:
    assert "Nothing to be done" in project.run(*RUN).stdout


def test_all_is_shown_on_request(shown: list[str], project: Project) -> None:
    said = project.run("env", "VERBOSE=1", *RUN[:-2], "--forcerun", "table", "--config", "scale=tiny").stdout
    assert "localrule table:" in said
    assert "Finished jobid" in said


def test_a_terminal_shows_what_runs(shown: list[str], project: Project) -> None:
    said = on_a_terminal(project, "--forcerun", "figure")
    assert re.search(r"\[0/2\] ((at least|about) \d+ s left \| )?figure checkerboard", said)
    assert "[1/2] figure: 1 job" in said


def test_a_failure_is_told_with_the_end_of_its_log_and_how_to_go_on(shown: list[str], project: Project) -> None:
    formats = project.folder / "pipeline/report/formats.py"
    before = formats.read_text()
    formats.write_text(f"{before}\nraise RuntimeError('no ink')\n")
    run = project.run(*RUN)
    formats.write_text(before)
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    failed = lines.index("failed: table checkerboard")
    assert lines[failed + 1] == "  the last lines of results/tiny/logs/table/checkerboard.log:"
    assert "    RuntimeError: no ink" in lines[failed + 2 :]
    assert lines[-2].startswith("[0/2] done, 1 failed; everything is in .snakemake/log/")
    assert lines[-1] == f"to go on: snakemake {' '.join(RUN[3:])}"
    assert len(lines) < 30


def test_a_mistake_that_stops_everything_is_shown(project: Project) -> None:
    said = project.run(*RUN, "sede=1").stdout
    assert "did you mean 'seed'" in said


def test_the_profile_for_a_cluster_keeps_its_keys() -> None:
    files = [ROOT / f"workflow/profiles/{name}/config.yaml" for name in ("default", "slurm")]
    default, slurm = (yaml.safe_load(file.read_text()) for file in files)
    assert not default.keys() & slurm.keys()
