"""Cases one after the other: a few for `make test`, the same ones each time, or as many as there is time for."""

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SECONDS = "KINOFLOW_FUZZ_SECONDS"  # for all targets together; without it, a few cases of each
FEW, MANY = 8, 100


class Findings(AssertionError):
    """What broke the law."""


def campaign(
    cases: st.SearchStrategy[Any], faults_of: Callable[[Any], list[str]], targets: int, few: int = FEW
) -> tuple[int, dict[str, str]]:
    """Try cases, and return how many, and for each finding its smallest case."""
    given_seconds = os.environ.get(SECONDS)
    end = time.monotonic() + float(given_seconds or 0) / targets
    tried, findings = 0, dict[str, str]()

    def attempt(case: Any) -> None:
        nonlocal tried
        if given_seconds and time.monotonic() > end:
            return
        tried += 1
        for fault in faults_of(case):
            shown = repr(case)
            if len(shown) < len(findings.get(fault, shown + " ")):
                findings[fault] = shown
                if given_seconds:
                    print(f"finding: {fault}\n  case: {shown[:1000]}", flush=True)

    quiet = settings(
        max_examples=MANY if given_seconds else few,
        derandomize=not given_seconds,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    while True:
        quiet(given(cases)(attempt))()
        if time.monotonic() >= end:
            return tried, findings
