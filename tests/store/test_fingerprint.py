"""What makes unfinished work useless, and what does not."""

from pathlib import Path

import pytest

from pipeline.store.code import code_hash

CODE = '"""About it."""\n\n\ndef double(x):\n    """Return twice x."""\n    return 2 * x  # twice\n'
TEXT = "TEXT = '''\n# first\n'''\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one file that all code consists of."""
    file = tmp_path / "module.py"
    monkeypatch.setattr("pipeline.store.code.files_of", lambda *modules: [file])
    return file


def hash_of(module: Path, text: str) -> str:
    module.write_text(text)
    return code_hash("any")


@pytest.mark.parametrize(
    "old, new",
    [
        ("# twice", "# two times"),
        ("  # twice", ""),
        ("Return twice x.", "Return 2 x.\n\n    More about it.\n    "),
        ('"""About it."""', "# nothing about it"),
        ("def double", "# what follows\ndef double"),
    ],
)
def test_words_about_the_code_do_not_count(module: Path, old: str, new: str) -> None:
    assert hash_of(module, CODE.replace(old, new)) == hash_of(module, CODE)


@pytest.mark.parametrize(
    "code, old, new",
    [
        (CODE, "2 * x", "3 * x"),
        (CODE, "return 2 * x", "if x:\n        return 2 * x"),
        (CODE, "(x)", "(x, y='# 1')"),
        (TEXT, "first", "second"),
        (TEXT, "first", "first\n"),
        ('class First: "one"\n', "First", "Second"),
    ],
)
def test_the_code_counts(module: Path, code: str, old: str, new: str) -> None:
    assert hash_of(module, code.replace(old, new)) != hash_of(module, code)
