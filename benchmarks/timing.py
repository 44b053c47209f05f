"""Two ways of doing one thing, in turns in one process; what is compared is their CPU time.

Absolute times depend on the machine and its load. The ratio of two ways that take turns hardly does.
"""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Comparison:
    """How many times cheaper the second way is than the first: the median ratio, the least and the largest.

    `seconds` are the median CPU seconds of each way. `note` says what else was counted, for example network rows.
    """

    case: str
    ways: tuple[str, str]
    ratio: float
    least: float
    largest: float
    seconds: tuple[float, float]
    note: str = ""


def compare(
    case: str,
    slow: tuple[str, Callable[[], object]],
    fast: tuple[str, Callable[[], object]],
    *,
    repeats: int = 5,
    note: str = "",
    clock: Callable[[], float] = time.process_time,
    rehearse: bool = True,
) -> Comparison:
    """Run two ways, each a name and a function, in turns, and return how their CPU times compare.

    Each way is rehearsed once before, so that what it caches does not count; ways that take minutes need not be. Ways
    that start processes need the `clock` `children`.

    >>> compare("sum of a range", ("loop", lambda: sum(range(10**5))), ("formula", lambda: 10**5 * 99999 // 2)).ways
    ('loop', 'formula')
    """
    (slow_name, slow_work), (fast_name, fast_work) = slow, fast
    if rehearse:
        slow_work(), fast_work()
    pairs = [(cpu_seconds(slow_work, clock=clock), cpu_seconds(fast_work, clock=clock)) for _ in range(repeats)]
    ratios = [first / second for first, second in pairs]
    seconds = (median(first for first, _ in pairs), median(second for _, second in pairs))
    return Comparison(case, (slow_name, fast_name), median(ratios), min(ratios), max(ratios), seconds, note)


def cpu_seconds(
    work: Callable[[], object], least: float = 0.02, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the CPU seconds of one call; short work is repeated until it adds up to `least` seconds."""
    calls, start = 0, clock()
    while True:
        work()
        calls += 1
        if (spent := clock() - start) >= least:
            return spent / calls


def children() -> float:
    """Return the CPU seconds of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def exponent(sizes: list[float], seconds: list[float]) -> float:
    """Return how the time grows with the size: the slope of a straight line through their logarithms.

    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 3)
    2.0
    """
    from numpy import log, polyfit

    return float(polyfit(log(sizes), log(seconds), 1)[0])
