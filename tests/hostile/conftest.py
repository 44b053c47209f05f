"""A trained world that the tests of this folder share; they must not change it."""

from collections.abc import Callable

import pytest
from world import World, new_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return new_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def only_message(capsys: pytest.CaptureFixture[str]) -> Callable[[int], str]:
    """Return a function of a command's exit status, which must be that of an error; it returns the only message."""

    def of(status: int) -> str:
        assert status == 2
        shown = capsys.readouterr().err
        assert shown.count("error:") == 1
        return shown

    return of
