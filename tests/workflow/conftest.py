"""Fixtures of the tests of the workflow."""

import pytest
from project import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the workflow in which nothing has run."""
    return Project.copy_to(tmp_path_factory.mktemp("project"))
