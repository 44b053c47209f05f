"""Folders in the configuration: which ones are refused, and how the refusal reads."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config.loading import load_config, with_types
from pipeline.config.problems import ConfigError

KEYS = ["results", "data.cache", "data.mirror"]
BAD = {
    "": "must not be empty; name a folder",
    " ": "must not be empty; name a folder",
    "out/{experiment}": "must not contain braces, which Snakemake takes for a wildcard; name another folder",
    "a}": "must not contain braces",
    "a\nb": r"must not contain the control character '\n'; name another folder",
    "a\0b": r"must not contain the control character '\x00'",
    "a\tb": r"must not contain the control character '\t'",
    "a\x7fb": r"must not contain the control character '\x7f'",
    "a\u2028b": r"must not contain the control character '\u2028'",
    "-out": "must not begin with a hyphen, or commands take it for an option; write ./-out",
    "~/out": "must not begin with ~, which is not expanded; write the folder in full, from / on",
    "~": "must not begin with ~",
    "/dev/null": "/dev/null exists and is not a folder; name another folder",
    "file/below": "file exists and is not a folder",
    "./file": "file exists and is not a folder",
    "gone": "gone exists and is not a folder",
}
GOOD = [
    "out",
    "./-out",
    "a/~b",
    "/tmp/x y",
    'it\'s; $(echo) `a` "b" & | * ? [c] #',
    "Ergebnisse/größer/結果",
    "folder/new/below",
    "link/below",
    ".",
    "..",
]


def given(key: str, folder: str) -> dict[str, object]:
    outer, _, inner = key.partition(".")
    return {outer: {inner: folder} if inner else folder}


@pytest.fixture
def file(tiny_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.symlink("folder", tmp_path / "link")
    os.symlink("nothing", tmp_path / "gone")
    return tiny_file()


@pytest.mark.parametrize("folder", BAD, ids=ascii)
@pytest.mark.parametrize("key", KEYS)
def test_a_folder_that_cannot_be_used_is_refused_with_key_value_and_fix(file: Path, key: str, folder: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(file, [given(key, folder)], choices=False)
    (problem,) = refused.value.problems
    assert (".".join(problem.key), problem.value) == (key, folder)
    assert BAD[folder] in problem.message


@pytest.mark.parametrize("folder", GOOD)
@pytest.mark.parametrize("key", KEYS)
def test_a_folder_may_have_any_other_name(file: Path, key: str, folder: str) -> None:
    load_config(file, [given(key, folder)], choices=False)


def test_what_snakemake_is_given_on_the_command_line_is_checked_too(file: Path) -> None:
    with pytest.raises(ConfigError, match="braces, which Snakemake takes for a wildcard"):
        load_config(file, [with_types({"scale": "tiny", "results": "out/{run}"})], choices=False)


def test_defaults_are_checked_too(file: Path, tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    (tmp_path / "data").touch()
    with pytest.raises(ConfigError) as refused:
        load_config(file, choices=False)
    assert [problem.key for problem in refused.value.problems] == [("results",), ("data", "cache")]


def test_everything_wrong_with_a_folder_is_said_at_once(file: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(file, [given("results", "~/{a}"), given("data.cache", "-{b}")], choices=False)
    assert len(refused.value.problems) == 4


def test_bytes_that_are_no_text_are_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(file, [given("results", os.fsdecode(b"a\xff"))], choices=False)
