"""The cache, the order of sources, the mirror, embedded files, and what the errors say."""

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import KinoflowError
from pipeline.fetch import fetching as fetch_module
from pipeline.fetch.copies import write_verified
from pipeline.fetch.fetching import SOURCES, fetch, fetch_by_name, find, list_resources
from pipeline.fetch.resource import Embedded, FetchError, Package, Resource

Make = Callable[..., Resource]
CONTENT = b"what was asked for" * 100


def mirror_with(directory: Path, content: bytes = CONTENT, path: str = "group/file.bin") -> Path:
    (directory / path).parent.mkdir(parents=True, exist_ok=True)
    (directory / path).write_bytes(content)
    return directory


def files_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_embedded_digits_are_the_1797_images(tmp_path: Path) -> None:
    (path,) = fetch_by_name("digits", tmp_path, order=["embedded"])
    assert path == tmp_path / "digits" / "digits.csv.gz"
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 1797


def test_embedded_says_that_the_dependency_is_missing(tmp_path: Path, make_resource: Make) -> None:
    source = Embedded("no-such-distribution", "no_such_module", "file.bin")
    with pytest.raises(FetchError, match=r"embedded: no-such-distribution is not installed(.|\n)*install no-such-dist"):
        fetch(make_resource(CONTENT, embedded=(source,)), tmp_path)


def test_embedded_refuses_another_version_of_the_file(tmp_path: Path, make_resource: Make) -> None:
    source = Embedded("scikit-learn", "sklearn", "datasets/data/digits.csv.gz")
    with pytest.raises(FetchError, match=r"installed scikit-learn: checksum differs: expected \w{64} got \w{64}"):
        fetch(make_resource(CONTENT, embedded=(source,)), tmp_path, order=["embedded"])
    assert files_below(tmp_path) == []


def test_mirror_is_copied_and_the_mirror_is_left_alone(tmp_path: Path, make_resource: Make) -> None:
    mirror = mirror_with(tmp_path / "mirror")
    path = fetch(make_resource(CONTENT), tmp_path / "cache", mirror=mirror)
    assert path == tmp_path / "cache" / "group" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert files_below(tmp_path) == ["cache/group/file.bin", "mirror/group/file.bin"]


def test_mirror_is_found_through_the_environment(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINOFLOW_MIRROR", str(mirror_with(tmp_path / "mirror")))
    assert fetch(make_resource(CONTENT), tmp_path / "cache").read_bytes() == CONTENT


def test_mirror_setting_wins_over_the_environment(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINOFLOW_MIRROR", str(mirror_with(tmp_path / "wrong", b"other bytes")))
    mirror = mirror_with(tmp_path / "mirror")
    assert fetch(make_resource(CONTENT), tmp_path / "cache", mirror=mirror).read_bytes() == CONTENT


def test_mirror_may_use_a_further_path(tmp_path: Path, make_resource: Make) -> None:
    mirror = mirror_with(tmp_path / "mirror", path="elsewhere/data.bin")
    resource = make_resource(CONTENT, mirror=("elsewhere/data.bin",))
    assert fetch(resource, tmp_path / "cache", mirror=mirror).read_bytes() == CONTENT


def test_a_filled_cache_is_a_mirror_for_another_machine(tmp_path: Path, make_resource: Make) -> None:
    resource = make_resource(CONTENT)
    fetch(resource, tmp_path / "first", mirror=mirror_with(tmp_path / "mirror"))
    assert fetch(resource, tmp_path / "second", mirror=tmp_path / "first").read_bytes() == CONTENT


def test_mirror_with_wrong_bytes_is_reported_with_both_checksums(tmp_path: Path, make_resource: Make) -> None:
    resource = make_resource(CONTENT)
    with pytest.raises(FetchError, match=rf"checksum differs: expected {resource.sha256} got \w{{64}}"):
        fetch(resource, tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror", b"other bytes"))
    assert files_below(tmp_path / "cache") == []


def test_mirror_that_does_not_exist_is_named(tmp_path: Path, make_resource: Make) -> None:
    with pytest.raises(FetchError, match=r"the mirror .*nowhere is not a directory"):
        fetch(make_resource(CONTENT), tmp_path / "cache", mirror=tmp_path / "nowhere")


def test_sources_are_tried_in_the_given_order(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def spy(kind: str) -> Callable[..., None]:
        original = fetch_module._OBTAIN[kind]

        def obtain(*arguments: object) -> None:
            tried.append(kind)
            original(*arguments)  # type: ignore[arg-type]

        return obtain

    for kind in SOURCES:
        monkeypatch.setitem(fetch_module._OBTAIN, kind, spy(kind))
    order = ["address", "mirror", "embedded", "package"]
    fetch(make_resource(CONTENT), tmp_path / "cache", order, mirror_with(tmp_path / "mirror"))
    assert tried == ["address", "mirror"]


def test_unknown_kind_of_source_names_the_allowed_ones(tmp_path: Path, make_resource: Make) -> None:
    with pytest.raises(FetchError, match=r"'torrent'; allowed are embedded, package, address, mirror"):
        fetch(make_resource(CONTENT), tmp_path, order=["mirror", "torrent"])


@pytest.mark.parametrize("order", ["mirror", []])
def test_order_must_be_a_list_with_something_in_it(tmp_path: Path, make_resource: Make, order: str | list[str]) -> None:
    with pytest.raises(FetchError, match=r"data\.order is .* give a list"):
        fetch(make_resource(CONTENT), tmp_path, order=order)


def test_failure_tells_about_all_four_ways_and_what_to_do(tmp_path: Path, make_resource: Make) -> None:
    resource = make_resource(CONTENT)
    with pytest.raises(FetchError) as caught:
        fetch(resource, tmp_path)
    message = str(caught.value)
    assert isinstance(caught.value, KinoflowError)
    assert "could not fetch group/file.bin" in message
    assert "embedded: no dependency ships it" in message
    assert "package: no PyPI or npm package is known to have it" in message
    assert "address: no address is known" in message
    assert "mirror: mirror not set" in message
    assert "set data.mirror or KINOFLOW_MIRROR to a directory that has group/file.bin" in message
    assert f"put the file with SHA-256 {resource.sha256} at {tmp_path / 'group' / 'file.bin'}" in message
    assert message.count("->") == 4


def test_failure_also_names_the_ways_that_the_order_leaves_out(tmp_path: Path, make_resource: Make) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(make_resource(CONTENT), tmp_path, order=["mirror"])
    message = str(caught.value)
    for kind in ("embedded", "package", "address"):
        assert f"{kind}: not tried\n    -> add {kind!r} to data.order to try it" in message


def test_cached_file_is_returned_without_any_source(tmp_path: Path, make_resource: Make) -> None:
    resource = make_resource(CONTENT)
    mirror_with(tmp_path)
    assert fetch(resource, tmp_path) == tmp_path / "group" / "file.bin"


def test_relative_cache_gives_a_relative_path(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = fetch(make_resource(CONTENT), Path("cache"), mirror=mirror_with(tmp_path / "mirror"))
    assert path == Path("cache/group/file.bin")
    assert path.read_bytes() == CONTENT


def test_corrupted_cached_file_is_replaced(tmp_path: Path, make_resource: Make) -> None:
    mirror_with(tmp_path / "cache", CONTENT[:-1] + b"!")
    path = fetch(make_resource(CONTENT), tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror"))
    assert path.read_bytes() == CONTENT


def test_corrupted_cached_file_that_cannot_be_replaced_is_reported(tmp_path: Path, make_resource: Make) -> None:
    mirror_with(tmp_path, b"corrupted")
    with pytest.raises(
        FetchError, match=r"cache: .*file\.bin is corrupted and could not be replaced: checksum differs"
    ):
        fetch(make_resource(CONTENT), tmp_path)


def test_directory_in_the_place_of_the_file_is_reported(tmp_path: Path, make_resource: Make) -> None:
    (tmp_path / "group" / "file.bin").mkdir(parents=True)
    with pytest.raises(FetchError, match="is not a file: remove it"):
        fetch(make_resource(CONTENT), tmp_path)


def test_cache_that_cannot_be_made_is_reported(tmp_path: Path, make_resource: Make) -> None:
    (tmp_path / "cache").write_text("a file, not a directory")
    with pytest.raises(FetchError, match=r"cannot write .*give data\.cache a directory"):
        fetch(make_resource(CONTENT), tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror"))


class FailingStream(io.BytesIO):
    """Gives some bytes and then fails, as a disk or a connection does."""

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(10)
        if not chunk:
            raise OSError("the disk is gone")
        return chunk


def test_failure_in_the_middle_leaves_nothing_behind_and_keeps_the_old_file(
    tmp_path: Path, make_resource: Make
) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="the disk is gone"):
        write_verified(FailingStream(CONTENT[:55]), target, make_resource(CONTENT))
    assert files_below(tmp_path) == ["file.bin"]
    assert target.read_bytes() == b"old"


def test_file_appears_under_its_name_only_when_complete(
    tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = make_resource(CONTENT)
    seen: list[bytes] = []

    def replace(source: Path, destination: Path) -> None:
        assert not Path(destination).exists()
        assert Path(source).parent == Path(destination).parent
        seen.append(Path(source).read_bytes())
        os.rename(source, destination)

    monkeypatch.setattr("pipeline.store.atomic.os.replace", replace)
    fetch(resource, tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror"))
    assert seen == [CONTENT]


def test_more_bytes_than_expected_are_not_written_to_the_end(tmp_path: Path, make_resource: Make) -> None:
    resource = make_resource(CONTENT, size=len(CONTENT))
    with pytest.raises(FetchError, match=f"larger than the expected {len(CONTENT)} bytes"):
        fetch(resource, tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror", CONTENT * 2))


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path, make_resource: Make) -> None:
    mirror_with(tmp_path / "cache", b"half", path="group/.file.bin.4711-0a1b2c3d.tmp")
    fetch(make_resource(CONTENT), tmp_path / "cache", mirror=mirror_with(tmp_path / "mirror"))
    assert files_below(tmp_path / "cache") == ["group/file.bin"]


@pytest.mark.parametrize("name, near", [("wikitext2", "wikitext-2"), ("minst", "mnist"), ("mp20_prt", "mp20_part")])
def test_unknown_name_gives_near_matches(tmp_path: Path, name: str, near: str) -> None:
    with pytest.raises(FetchError, match=rf"unknown resource '{name}': did you mean .*{near}"):
        fetch_by_name(name, tmp_path)


def test_name_like_nothing_lists_the_groups() -> None:
    with pytest.raises(FetchError, match=r"known are carbon_24, cifar10, .*wikitext-2"):
        find("???")


def test_name_of_a_group_gives_all_its_files_and_a_key_one() -> None:
    assert [resource.file for resource in find("gpt2_vocabulary")] == ["encoder.json", "vocab.bpe"]
    assert [resource.key for resource in find("mnist/t10k-labels-idx1-ubyte")] == ["mnist/t10k-labels-idx1-ubyte"]


def test_rows_say_size_sources_and_whether_cached(tmp_path: Path) -> None:
    fetch_by_name("digits", tmp_path, order=["embedded"])
    rows = {row["name"]: row for row in list_resources(tmp_path)}
    assert rows["digits/digits.csv.gz"]["cached"] == "yes"
    assert rows["digits/digits.csv.gz"]["sources"] == "embedded, mirror"
    assert rows["digits/digits.csv.gz"]["size"] == "0.06 MB"
    assert rows["digits/digits.csv.gz"]["check"] == "SHA-256"
    assert rows["mp20/train.csv"]["check"] == "Git object"
    assert rows["wikitext-2/wiki.test.raw"]["sources"] == "address, mirror"
    assert rows["gpt2_vocabulary/vocab.bpe"]["cached"] == "no"
    assert rows["gpt2_vocabulary/vocab.bpe"]["sources"] == "package, address, mirror"


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"sha256": "abc"}, "sha256 is 'abc'"),
        ({"git_object": "0" * 64}, "give 40 lower-case hexadecimal digits"),
        ({"file": "../escape"}, "name or file"),
        ({"name": "a/../b"}, "name or file is '..'"),
        ({"file": ".hidden"}, "name or file is '.hidden'"),
        ({"addresses": ("ftp://example.org/file",)}, "give an https address"),
        ({"addresses": ("http://example.org/file",)}, "give an https address"),
        ({"mirror": ("../outside",)}, "mirror is '../outside'"),
        ({"mirror": ("/absolute",)}, "mirror is '/absolute'"),
        ({"size": -1}, "size is -1"),
    ],
)
def test_meaningless_resource_is_refused_with_its_field(changes: dict[str, object], words: str) -> None:
    fields = {"name": "group", "file": "file.bin", "sha256": "0" * 64, "origin": "nowhere"} | changes
    with pytest.raises(FetchError) as caught:
        Resource(**fields)  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize("version", ["latest", ">=1.0", "1.*", "^1.2", "1.0,<2", "", "1.2 --pre"])
def test_package_version_must_be_exact(version: str) -> None:
    with pytest.raises(FetchError, match="give one exact version"):
        Package("wheel", "some-package", version, "member")


def test_package_name_cannot_be_an_option() -> None:
    with pytest.raises(FetchError, match="name is '--index-url'"):
        Package("wheel", "--index-url", "1.0", "member")


def test_source_distribution_needs_the_checksum_of_its_archive() -> None:
    with pytest.raises(FetchError, match="archive_sha256 is None"):
        Package("sdist", "some-package", "1.0", "member")
