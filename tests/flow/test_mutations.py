"""The list of mutations is up to date: the text of each is in the code exactly once."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MUTATIONS = runpy.run_path(str(ROOT / "tests" / "mutations.py"))["MUTATIONS"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_has_one_place_and_tests_that_guard_it(name: str) -> None:
    tests, file, old, new = MUTATIONS[name]
    assert (ROOT / tests).exists()
    assert (ROOT / "pipeline" / "flow" / file).read_text().count(old) == 1
    assert old != new
