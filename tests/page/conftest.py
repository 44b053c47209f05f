"""Fixtures of the tests of the results page."""

import pytest
from small_results import SmallResults

from pipeline.page.build import INDEX


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallResults:
    """Results of three experiments, and their page."""
    made = SmallResults.make(tmp_path_factory.mktemp("small"))
    made.run("report-page")
    assert (made.folder / "report" / INDEX).is_file()
    return made
