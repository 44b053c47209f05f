"""Fixtures of the tests of training."""

from pathlib import Path

import pytest
from small_problem import Problem


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    """A network to be trained on a small board."""
    return Problem(tmp_path)
