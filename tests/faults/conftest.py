"""The number of faults that were tried, printed at the end."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many faults were tried at each stage."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    found = [value for report in reports for name, value in getattr(report, "user_properties", []) if name == "faults"]
    if found:
        terminalreporter.section("faults: stage, writes, tried of all, wrong")
        for stage, writes, tried, possible, wrong in found:
            terminalreporter.write_line(f"{stage:10} {writes:5} {tried:6} of {possible:5} {wrong:5}")
        terminalreporter.write_line(
            f"{'together':16} {sum(row[2] for row in found):6} of {sum(row[3] for row in found):5}"
        )
