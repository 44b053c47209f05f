"""Fixtures of the tests on a cluster."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))  # where the copies of the project are made


@pytest.fixture(scope="module")
def slurm() -> Iterator[Path]:
    """A SLURM of one node that runs for all tests of a file; the folder of its logs."""
    from one_node_slurm import one_node_slurm

    with one_node_slurm() as folder:
        yield folder
