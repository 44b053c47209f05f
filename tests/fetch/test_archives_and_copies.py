"""Members of archives at an address, and copies of a mirror that are in another form."""

import gzip
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.fetch.fetching import available, fetch
from pipeline.fetch.resource import Archive, FetchError, Resource, Rewritten
from pipeline.fetch.rewriting import unpacked, with_passages_joined

FileServer = Any  # the class is in conftest.py, which not every import mode of pytest lets a test import
TEXTS = {"valid.raw": b"some text\n" * 50, "test.raw": b"other text\n" * 60}


def zipped(texts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in texts.items():
            archive.writestr(f"texts/{name}", content)
    return stream.getvalue()


def member(server: FileServer, name: str, **changes: Any) -> Resource:
    digest = hashlib.sha256(server.content).hexdigest()
    archive = Archive("texts.zip", digest, len(server.content), (server.address("/texts.zip"),), f"texts/{name}")
    checksum = hashlib.sha256(TEXTS[name]).hexdigest()
    return Resource("group", name, checksum, "a test", archives=(replace(archive, **changes),))


def text(**sources: Any) -> Resource:
    return Resource("group", "a.txt", hashlib.sha256(b"plain").hexdigest(), "a test", 5, **sources)


def test_members_of_an_archive_cost_one_download(server: FileServer, tmp_path: Path) -> None:
    server.content = zipped(TEXTS)
    for name, content in TEXTS.items():
        assert fetch(member(server, name), tmp_path, progress=False).read_bytes() == content
    assert server.asked == [None]


def test_a_damaged_archive_in_the_cache_is_downloaded_again(server: FileServer, tmp_path: Path) -> None:
    server.content = zipped(TEXTS)
    fetch(member(server, "valid.raw"), tmp_path, progress=False)
    [archive] = tmp_path.rglob("texts.zip")
    archive.write_bytes(b"torn")
    assert fetch(member(server, "test.raw"), tmp_path, progress=False).exists()
    assert len(server.asked) == 2


def test_an_archive_that_is_another_one_is_never_opened(server: FileServer, tmp_path: Path) -> None:
    server.content = zipped(TEXTS)
    wanted = member(server, "valid.raw", sha256="0" * 64)
    with pytest.raises(FetchError, match=r"texts\.zip: checksum differs: expected 0{64}"):
        fetch(wanted, tmp_path, progress=False)
    assert not list(tmp_path.rglob("texts.zip"))


def test_a_member_that_is_missing_or_another_one_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.content = zipped({"valid.raw": b"not the text"})
    with pytest.raises(FetchError, match=r"texts/test\.raw of texts\.zip: texts\.zip has no member"):
        fetch(member(server, "test.raw"), tmp_path, progress=False)
    with pytest.raises(FetchError, match=r"texts/valid\.raw of texts\.zip: checksum differs"):
        fetch(member(server, "valid.raw"), tmp_path, progress=False)


def test_a_packed_copy_of_a_mirror_is_unpacked(tmp_path: Path) -> None:
    resource = text(rewritten=(Rewritten("group/a.txt.gz", unpacked),))
    (tmp_path / "mirror/group").mkdir(parents=True)
    (tmp_path / "mirror/group/a.txt.gz").write_bytes(gzip.compress(b"plain"))
    assert available(resource, tmp_path / "cache", ["mirror"], tmp_path / "mirror").source == "mirror"
    assert fetch(resource, tmp_path / "cache", mirror=tmp_path / "mirror").read_bytes() == b"plain"


@pytest.mark.parametrize(
    "content, words",
    [
        (b"no archive", "is damaged"),
        (gzip.compress(b"plain")[:-9], "is damaged"),
        (gzip.compress(b"other"), "checksum differs"),
        (gzip.compress(b"plain and more"), "checksum differs|larger than"),
    ],
    ids=["no archive", "cut short", "other content", "more content"],  # a packed file has its time in it
)
def test_a_packed_copy_that_is_damaged_or_another_one_is_reported(tmp_path: Path, content: bytes, words: str) -> None:
    resource = text(rewritten=(Rewritten("group/a.txt.gz", unpacked),))
    (tmp_path / "mirror/group").mkdir(parents=True)
    (tmp_path / "mirror/group/a.txt.gz").write_bytes(content)
    assert any(
        words.split("|")[0] in reason
        for reason in available(resource, tmp_path, ["mirror"], tmp_path / "mirror").reasons
    )
    with pytest.raises(FetchError, match=rf"a\.txt\.gz:? ({words})"):
        fetch(resource, tmp_path / "cache", ["mirror"], tmp_path / "mirror")
    assert not list((tmp_path / "cache").rglob("*.txt"))


def test_passages_are_joined_as_openai_wrote_them(tmp_path: Path) -> None:
    rows = [
        {"context": "“Go,” said", "continuation": "Ann"},
        {"context": "A line\nand the next", "continuation": "one"},
    ]
    copy = tmp_path / "copy.jsonl"
    copy.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    expected = b'{"text": "\\u201cGo,\\u201d said Ann"}\n{"text": "A line\\nand the next one"}\n'
    with with_passages_joined(copy) as stream:
        assert stream.read() == expected
