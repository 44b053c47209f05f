"""A trained world that the tests of this folder share; they must not change it."""

import pytest
from world import World, new_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return new_world(tmp_path_factory.mktemp("world"))
