"""Configuration files that cannot be read, or choose by the wrong key, are named without a traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli import main


@pytest.mark.parametrize(
    "content", [b"seed: \xff\xfe", b"? [a, b]\n: 1\n", b"a: &x [*x]\nb: {c: *x", b"{{a: 1}: 2}: 3"], ids=str
)
def test_an_unreadable_file_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    assert main(["check", "--config", str(path)]) == 2
    assert "broken.yaml: 1 problem" in capsys.readouterr().err


def test_a_metric_is_not_renamed_by_an_option(
    tiny_file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"experiments": {"checkerboard": {"scoring": {"likelihood_bound": {"name": "known_distribution"}}}}}
    assert main(["check", "--config", str(tiny_file(changes))]) == 2
    assert "experiments.checkerboard.scoring.likelihood_bound.name" in capsys.readouterr().err
