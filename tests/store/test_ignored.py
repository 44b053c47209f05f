"""Results under another name are ignored by Git like those under `results`."""

import subprocess
from pathlib import Path

import pytest

from pipeline.store.ignored import keep_from_git


def test_git_sees_the_small_tables_and_scores_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    keep_from_git(Path("elsewhere"))
    kept = ("tables/a.csv", "scores/a/b.json", "headlines/a/b.json")
    for name in (*kept, "models/a/b.safetensors", "config.yaml", "logs/x/y.log"):
        (tmp_path / "elsewhere/demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "elsewhere/demo" / name).touch()
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    shown = subprocess.run(status, capture_output=True, text=True, check=True).stdout.splitlines()
    seen = [line.partition("elsewhere/")[2] for line in shown]
    assert seen == [".gitignore", "demo/headlines/a/b.json", "demo/scores/a/b.json", "demo/tables/a.csv"]


def test_the_users_own_and_the_usual_folder_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/.gitignore").write_text("mine")
    keep_from_git(Path("elsewhere"))
    keep_from_git(Path("results"))
    assert (tmp_path / "elsewhere/.gitignore").read_text() == "mine"
    assert not (tmp_path / "results").exists()
