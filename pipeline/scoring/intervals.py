"""Rates in percent, and means, with 95 % confidence intervals."""

from collections.abc import Sequence

RESAMPLES = 2000  # of a bootstrap


def rate(key: str, successes: int, total: int) -> dict[str, float]:
    """Return a rate and its interval (Wilson, 1927) as `key`, `key_low` and `key_high`; nothing if the total is 0."""
    from scipy.stats import binomtest  # importing it takes a second; only do so when needed

    if total == 0:
        return {}
    interval = binomtest(successes, total).proportion_ci(0.95, method="wilson")
    bounds = {f"{key}_low": 100 * float(interval.low), f"{key}_high": 100 * float(interval.high)}
    return {key: 100 * successes / total} | bounds


def mean(key: str, values: Sequence[float], seed: int) -> dict[str, float]:
    """Return a mean and its bootstrap interval as `key`, `key_low` and `key_high`; nothing if there are no values.

    A single value has no interval: there is nothing to tell how much others would differ.
    """
    import numpy as np

    if len(values) < 2:
        return {key: float(values[0])} if len(values) else {}
    drawn = np.random.default_rng(seed).choice(np.asarray(values), (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {key: float(np.mean(values)), f"{key}_low": float(low), f"{key}_high": float(high)}
