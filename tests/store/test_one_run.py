"""Two runs do not work in one directory."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import KinoflowError
from pipeline.store.locks import claim

HOLD = """
import subprocess, sys
from pathlib import Path
from pipeline.store.locks import claim

claim(Path(sys.argv[1]), Path(sys.argv[1], "logs/run.lock"))
job = subprocess.Popen(["sleep", "600"])
print(job.pid, flush=True)
sys.stdin.read()
"""


def test_a_second_run_is_refused_until_the_first_is_killed_even_if_its_jobs_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        job = first.stdout.readline().strip()
        with pytest.raises(KinoflowError, match="another run is at work there; wait until"):
            claim(tmp_path, tmp_path / "logs/run.lock")
        first.kill()
    claim(tmp_path, tmp_path / "logs/run.lock")
    subprocess.run(["kill", job], check=True)


def test_a_lock_of_another_user_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pipeline.store.locks.os.open", refused)  # root, who may run this, is refused nothing
    with pytest.raises(KinoflowError, match=r"logs/run.lock: belongs to another user, .* --config results="):
        claim(tmp_path, tmp_path / "logs/run.lock")
