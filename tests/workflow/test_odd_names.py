"""The workflow where names hold what a shell would take for its own."""

from pathlib import Path

import pytest
from project import Project

ODD = "a b; $(touch pwned) 'c' \"d\" é & *"


def test_the_whole_workflow_runs_in_a_clone_and_with_results_of_an_odd_name(tmp_path: Path) -> None:
    folder = tmp_path / f"{ODD}\nsecond line"
    folder.mkdir()
    project = Project.copy_to(folder)
    (project.folder / "config/odd.yaml").write_text(
        (project.folder / "config/tiny.yaml").read_text().replace("scale: tiny", "scale: odd")
        + f"results: {ODD!r}\n".replace("\\'", "''")
    )
    result = project.snakemake("--cores", "2", "--show-failed-logs", scale="odd")
    assert result.returncode == 0, result.stdout
    assert (folder / ODD / "odd/tables/checkerboard.csv").is_file()
    assert (folder / ODD / "odd/figures/checkerboard.png").is_file()
    assert not [*folder.rglob("pwned*")]


@pytest.mark.parametrize(
    "results, problem",
    [("two\nlines", "results"), ("{experiment}", "results"), ("victim", "results"), ("/dev/null/x", "results")],
)
def test_results_that_cannot_be_a_directory_are_refused_before_any_job(
    project: Project, results: str, problem: str
) -> None:
    (project.folder / "victim").write_text("mine")
    text = (project.folder / "config/tiny.yaml").read_text()
    escaped = results.replace("\n", "\\n")
    (project.folder / "config/wrong.yaml").write_text(
        text.replace("scale: tiny", "scale: wrong") + f'results: "{escaped}"\n'
    )
    result = project.snakemake("--cores", "1", scale="wrong")
    assert result.returncode != 0
    assert f"config/wrong.yaml: 1 problem\n  {problem}" in result.stdout
    assert (project.folder / "victim").read_text() == "mine"
