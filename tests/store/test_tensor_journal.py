"""The journal of tensors: what was kept is there again to the last bit, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pipeline.store.tensor_journal import TensorJournal

TENSORS = {
    "n": torch.tensor(2**40 + 1),
    "mean": torch.randn(3, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
    "none": torch.empty(0, 5),
    "columns": torch.arange(6.0).view(2, 3).T,
}


def flipped(content: bytes) -> bytes:
    """Return a file with one bit of its last tensor changed, which safetensors does not notice."""
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def renamed(content: bytes) -> bytes:
    return content.replace(b'"mean"', b'"meat"')


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "torn": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "a bit": flipped,
    "a name": renamed,
}


def written(folder: Path) -> Path:
    TensorJournal(folder, "this").keep("state", TENSORS)
    return folder / "kept-state.safetensors"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tensors_are_there_again_to_the_last_bit(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    found = TensorJournal(tmp_path / "journal", "this").kept("state")
    assert found is not None
    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_later_tensors_of_a_name_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    written(tmp_path)
    journal = TensorJournal(tmp_path, "this")
    before = journal.kept("state")
    journal.keep("state", {"n": torch.tensor(3)})
    assert names(tmp_path) == {"kept-state.safetensors"}
    after = TensorJournal(tmp_path, "this").kept("state")
    assert before is not None
    assert torch.equal(before["mean"], TENSORS["mean"])
    assert after == {"n": torch.tensor(3)}


def test_what_was_kept_is_not_computed_again(tmp_path: Path) -> None:
    def never() -> torch.Tensor:
        raise AssertionError

    first = TensorJournal(tmp_path, "this").once("part-0", lambda: TENSORS["mean"])
    again = TensorJournal(tmp_path, "this").once("part-0", never)
    assert torch.equal(first, again)
    with pytest.raises(AssertionError):
        TensorJournal(tmp_path, "this").once("part-1", never)


def test_tensors_made_from_something_else_are_thrown_away(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert TensorJournal(tmp_path, "that").kept("state") is None
    assert not path.exists()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_as_none_and_its_place_is_taken(damage: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    content = path.read_bytes()
    path.write_bytes(DAMAGE[damage](content))
    assert path.read_bytes() != content
    journal = TensorJournal(tmp_path, "this")
    assert journal.kept("state") is None
    journal.keep("state", TENSORS)
    assert path.read_bytes() == content


def test_a_file_that_is_damaged_at_work_is_passed_over_with_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, journal = written(tmp_path), TensorJournal(tmp_path, "this")
    path.write_bytes(path.read_bytes()[:20])
    assert journal.kept("state") is None
    assert f"passed over: {path}" in capsys.readouterr().err


def test_only_what_is_the_journals_own_is_ever_removed(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / ".kept-state.safetensors.12-ab.tmp").write_bytes(b"left by a kill")
    others = {"finished.jsonl", "weights.safetensors", ".weights.safetensors.12-ab.tmp"}
    for name in others:
        (tmp_path / name).write_bytes(b"of others")
    journal = TensorJournal(tmp_path, "this")
    assert names(tmp_path) == others | {"kept-state.safetensors"}
    journal.remove()
    assert names(tmp_path) == others


def test_removing_it_leaves_no_folder_whether_anything_was_kept_or_not(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    for _ in range(2):
        TensorJournal(tmp_path / "journal", "this").remove()
        assert not (tmp_path / "journal").exists()
