"""What tests of several folders share."""

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import TINY

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in jobs in the background; tests send it


@pytest.fixture
def tiny_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the tiny configuration, with changes, and returns its path."""

    def write(changes: dict[str, Any] | None = None) -> Path:
        from pipeline.config.loading import merge

        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(merge(TINY, changes or {})))
        return path

    return write


@pytest.fixture
def fingerprint_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], str]:
    """Return a function that calls a training stage up to its first step; it returns what checkpoints are kept by."""

    class Began(Exception):
        pass

    def begin(*given: Any, **options: Any) -> None:
        from pipeline.training.checkpoint import Checkpoints

        raise Began(*(one.fingerprint for one in given if isinstance(one, Checkpoints)))

    def of(stage: Callable[[], None]) -> str:
        with monkeypatch.context() as patched:
            patched.setattr("pipeline.training.loop.fit", begin)
            with pytest.raises(Began) as began:
                stage()
        (fingerprint,) = began.value.args
        return str(fingerprint)

    return of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first: at the end, one process would be at work and the others wait."""
    first = ["test_readme.py", "test_images.py", "test_crystals.py", "test_dvc_repro.py"]
    places = {name: place for place, name in enumerate(first)}
    items.sort(key=lambda item: places.get(item.path.name, len(first)) if item.path.parent.name == "workflow" else 99)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the law tests that passed for each path under each velocity."""
    counts: dict[str, Counter[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        if "test_every_path_and_velocity.py::" in report.nodeid and "[" in report.nodeid:
            path, _, velocity, *_ = report.nodeid.partition("[")[2].rstrip("]").split("-")
            counts.setdefault(path, Counter())[velocity] += 1
    if counts:
        velocities = sorted({velocity for row in counts.values() for velocity in row})
        terminalreporter.section("law tests passed, path x velocity")
        terminalreporter.write_line(" " * 22 + "".join(f"{velocity:>17}" for velocity in velocities))
        for path, row in sorted(counts.items()):
            terminalreporter.write_line(f"{path:22}" + "".join(f"{row[velocity]:17}" for velocity in velocities))
