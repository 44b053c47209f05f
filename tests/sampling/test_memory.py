"""The memory that sampling takes."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("many_codes.py")


def peak(folder: Path, count: int, length: int) -> float:
    """Return the peak of memory in MB of a process that draws codes and joins their shards."""
    folder.mkdir()
    command = [sys.executable, str(SCRIPT), str(folder), str(count), str(length)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("length", [16, 256])
def test_ten_times_as_many_samples_take_the_same_memory(length: int, tmp_path: Path) -> None:
    few, many = (peak(tmp_path / str(count), count, length) for count in (10_000, 100_000))
    assert many < 1.1 * few
