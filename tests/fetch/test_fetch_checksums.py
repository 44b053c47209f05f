"""Users' own checksums, and files that have no other."""

import hashlib
from pathlib import Path

import pytest

from pipeline.config import Fetching
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.fetching import available, fetch, fetch_by_name
from pipeline.fetch.resource import FetchError, Resource

CONTENT = b"material_id,cif\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
KEY = "mp20/train.csv"
UNKNOWN = Resource("group", "train.csv", None, "a test", addresses=("https://example.org/train.csv",))


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror" / "group").mkdir(parents=True)
    (tmp_path / "mirror" / UNKNOWN.key).write_bytes(CONTENT)
    return tmp_path / "mirror"


def test_without_a_checksum_nothing_is_fetched_and_the_error_says_what_to_do(tmp_path: Path, mirror: Path) -> None:
    with pytest.raises(FetchError) as raised:
        fetch(UNKNOWN, tmp_path / "cache", ["mirror"], mirror)
    for part in ("https://example.org/train.csv", "sha256sum train.csv", "data.checksums: {group/train.csv:"):
        assert part in str(raised.value)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(FetchError, match="its SHA-256 is not known"):
        available(UNKNOWN, tmp_path / "cache", ["address"], None)


def test_with_the_users_checksum_the_file_is_fetched(tmp_path: Path, mirror: Path) -> None:
    path = fetch(UNKNOWN.with_checksum(DIGEST), tmp_path / "cache", ["mirror"], mirror)
    assert path.read_bytes() == CONTENT


def test_a_file_with_another_checksum_is_refused(tmp_path: Path, mirror: Path) -> None:
    with pytest.raises(FetchError, match="checksum differs: expected 0000"):
        fetch(UNKNOWN.with_checksum("0" * 64), tmp_path / "cache", ["mirror"], mirror)
    assert not (tmp_path / "cache" / UNKNOWN.key).exists()


def test_a_users_checksum_reaches_the_files_of_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "cache/mp20").mkdir(parents=True)
    (tmp_path / "cache" / KEY).write_bytes(CONTENT)
    with pytest.raises(FetchError, match="checksum differs: expected 0000"):
        fetch_by_name(KEY, tmp_path / "cache", ["mirror"], checksums={KEY: "0" * 64})
    with pytest.raises(FetchError, match="Git object id differs: expected b1c9"):  # both have to be right
        fetch_by_name(KEY, tmp_path / "cache", ["mirror"], checksums={KEY: DIGEST})


def test_a_known_checksum_cannot_be_overruled(tmp_path: Path) -> None:
    key = "mnist/t10k-labels-idx1-ubyte"
    with pytest.raises(FetchError, match="is known to be"):
        fetch_by_name(key, tmp_path, ["mirror"], checksums={key: "0" * 64})


def test_a_checksum_for_a_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"'mp20/tran\.csv' is in the catalogue; did you mean 'mp20/train\.csv'"):
        fetch_by_name(KEY, tmp_path, ["mirror"], checksums={"mp20/tran.csv": DIGEST})


@pytest.mark.parametrize("digits", ["", "abc", DIGEST.upper(), DIGEST + "0", 5])
def test_a_checksum_must_have_64_digits(digits: object) -> None:
    with pytest.raises(ValueError, match=r"64 lower-case hexadecimal digits|valid string"):
        Fetching(checksums={KEY: digits})  # type: ignore[dict-item]


def test_every_file_of_the_catalogue_can_be_checked() -> None:
    assert all(resource.checks for resource in CATALOGUE.values())
