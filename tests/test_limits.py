"""What the attempts of a job ask for."""

import pytest

from pipeline.config import Limits, Resources


@pytest.mark.parametrize(
    "first, attempt, asked",
    [
        (400, 1, 400),
        (400, 2, 800),
        (400, 3, 1000),  # the limit
        (1000, 2, 1000),
        (3000, 1, 3000),  # never less than the first, even above the limit
        (3000, 3, 3000),
    ],
)
def test_a_retry_asks_for_more_up_to_the_limit_and_never_for_less(first: int, attempt: int, asked: int) -> None:
    time, memory = Limits(minutes=1000, memory_mb=1), Limits(minutes=1, memory_mb=1000)
    assert time.minutes_of(Resources(minutes=first), attempt) == asked
    assert memory.memory_of(Resources(memory_mb=first), attempt) == asked
