"""Rates in percent with 95 % confidence intervals."""

from math import sqrt

_Z = 1.959963984540054  # 97.5 % of a normal distribution lies below


def rate(key: str, successes: int, total: int) -> dict[str, float]:
    """Return a rate and its interval under `key`, `key_low` and `key_high`; nothing if nothing was tried."""
    if total == 0:
        return {}
    low, high = wilson_interval(successes, total)
    return {key: 100 * successes / total, f"{key}_low": 100 * low, f"{key}_high": 100 * high}


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """Return the shares that are compatible with what was counted, at 95 % (Wilson, 1927).

    The bounds p solve |successes / total - p| = z sqrt(p (1 - p) / total).
    """
    share, spread = successes / total, _Z**2 / total
    middle = (share + spread / 2) / (1 + spread)
    half = sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == total else min(1.0, middle + half)
    return low, high
