"""Files of tensors: equal content gives equal files, and a file in the wrong place a clear error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pipeline.errors import KinoflowError
from pipeline.store.arrays import read_description
from pipeline.store.tensors import read_tensors, write_tensors

SAVE = """
import sys, torch
from pathlib import Path
from pipeline.store.tensors import write_tensors
write_tensors(Path(sys.argv[1]), "tokens", {"b": torch.ones(3), "a": torch.zeros(2)}, {"x": 1, "y": {"z": 2, "a": 3}})
"""


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    for seed in ("1", "2"):  # of the order of sets
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / seed)], env=environment, check=True)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_tensors_and_description_come_back(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", "samples", {"a": torch.arange(6).view(2, 3).T}, {"n": 2})
    tensors, description = read_tensors(tmp_path / "file", "samples")
    assert torch.equal(tensors["a"], torch.arange(6).view(2, 3).T)
    assert description == read_description(tmp_path / "file", "samples") == {"n": 2}


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "file", "samples", {"a": torch.ones(1)}, {})
    with pytest.raises(KinoflowError, match=r"file: holds samples, not tokens"):
        read_tensors(tmp_path / "file", "tokens")


@pytest.mark.parametrize("content", [None, b"", b"not tensors", b"\x10\x00\x00\x00\x00\x00\x00\x00{"])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    for read in (read_description, read_tensors):
        with pytest.raises(KinoflowError, match=r"file: cannot be read as a file of weights"):
            read(tmp_path / "file", "weights")


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o027, 0o640)])
def test_the_umask_decides_who_may_read_a_file(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_tensors(tmp_path / "tensors", "samples", {"tokens": torch.zeros(2)}, {})
    finally:
        os.umask(before)
    assert (tmp_path / "tensors").stat().st_mode & 0o777 == mode
