"""A trained world for all targets, and the count of cases at the end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign import FEW, campaign
from hypothesis import strategies as st
from world import World, new_world

TARGETS = 11


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return new_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an attempt."""
    (tmp_path / "in").mkdir()
    return tmp_path


@pytest.fixture
def holds(record_property: Callable[[str, Any], None]) -> Callable[..., None]:
    """Return a function that tries cases and raises if one broke the law."""

    def check(cases: st.SearchStrategy[Any], faults_of: Callable[[Any], list[str]], few: int = FEW) -> None:
        tried, findings = campaign(cases, faults_of, TARGETS, few)
        record_property("fuzz", (tried, len(findings)))
        assert tried
        assert not findings, "\n".join(f"{fault}\n  case: {case[:2000]}" for fault, case in findings.items())

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases were tried."""
    counts = {}
    for report in [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]:
        for name, value in getattr(report, "user_properties", []):
            if name == "fuzz":
                counts[report.nodeid.rpartition("::")[2]] = value
    if counts:
        terminalreporter.section("fuzz: cases tried, findings")
        for name, (tried, found) in counts.items():
            terminalreporter.write_line(f"{name:60} {tried:8,} {found:4}")
        together = [sum(column) for column in zip(*counts.values(), strict=True)]
        terminalreporter.write_line(f"{'together':60} {together[0]:8,} {together[1]:4}")
