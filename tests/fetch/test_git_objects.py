"""Files that are checked by the id of their Git object."""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.fetch.checks import fault_in, git_object_of
from pipeline.fetch.fetching import available, fetch
from pipeline.fetch.resource import FetchError, Resource

FileServer = Any  # the class is in conftest.py, which not every import mode of pytest lets a test import
CONTENT = bytes(range(256)) * 12000  # three chunks
ID = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
FLIPPED = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])


def resource_at(server: FileServer, content: bytes = CONTENT, **fields: Any) -> Resource:
    server.content = content
    return Resource("group", "file.bin", None, "a test", addresses=(server.address(),), git_object=ID, **fields)


def files_in(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "group").iterdir())


@pytest.mark.parametrize(
    "content, printed",
    [
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
        (CONTENT, None),
    ],
)
def test_the_id_is_what_git_prints(tmp_path: Path, content: bytes, printed: str | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    by_git = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True).stdout
    assert git_object_of(path) == by_git.strip()
    assert printed in (None, git_object_of(path))


def test_a_file_with_the_right_id_is_fetched_once(server: FileServer, tmp_path: Path) -> None:
    resource = resource_at(server)
    for _ in range(2):
        assert fetch(resource, tmp_path, progress=False).read_bytes() == CONTENT
    assert server.asked == [None]
    assert available(resource, tmp_path, ["address"], None).source == "cache"


def test_one_flipped_byte_is_refused_and_nothing_is_kept(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=rf"Git object id differs: expected {ID} got \w{{40}}; the download was del"):
        fetch(resource_at(server, FLIPPED), tmp_path, progress=False)
    assert files_in(tmp_path) == []


def test_the_error_names_the_id_and_how_to_compute_it(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=rf"by hand: put the file with Git object {ID} .as `git hash-object` prints"):
        fetch(resource_at(server, FLIPPED), tmp_path, progress=False)


def test_a_byte_that_flips_in_the_cache_is_noticed_and_mended(server: FileServer, tmp_path: Path) -> None:
    resource = resource_at(server)
    fetch(resource, tmp_path, progress=False).write_bytes(FLIPPED)
    [reason] = available(resource, tmp_path, ["address"], None).reasons
    assert "Git object id differs" in reason
    assert fetch(resource, tmp_path, progress=False).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"\0"])
def test_a_file_of_another_size_is_refused(server: FileServer, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FetchError, match="Git object id differs"):
        fetch(resource_at(server, content), tmp_path, progress=False)


def test_a_file_of_unknown_size_cannot_fill_the_disk(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.fetch.resource.LARGEST", len(CONTENT))
    with pytest.raises(FetchError, match=f"larger than {len(CONTENT)} bytes, the most for a file whose size is not"):
        fetch(resource_at(server, CONTENT * 3), tmp_path, progress=False)
    assert files_in(tmp_path) == []


def test_a_download_that_was_cut_short_goes_on_and_is_checked_as_a_whole(server: FileServer, tmp_path: Path) -> None:
    resource = resource_at(server)
    (tmp_path / "group").mkdir()
    (tmp_path / "group/file.bin.part").write_bytes(CONTENT[:1000])
    assert fetch(resource, tmp_path, progress=False).read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-"]


def test_a_users_checksum_is_checked_besides_the_id(server: FileServer, tmp_path: Path) -> None:
    right, other = (hashlib.sha256(content).hexdigest() for content in (CONTENT, FLIPPED))
    with pytest.raises(FetchError, match=f"checksum differs: expected {other}"):
        fetch(resource_at(server).with_checksum(other), tmp_path, progress=False)
    with pytest.raises(FetchError, match="Git object id differs"):
        fetch(resource_at(server, FLIPPED).with_checksum(other), tmp_path, progress=False)
    both = resource_at(server).with_checksum(right)
    assert fault_in(fetch(both, tmp_path, progress=False), both) == ""
