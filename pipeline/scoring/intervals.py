"""Rates in percent with 95 % confidence intervals."""


def rate(key: str, successes: int, total: int) -> dict[str, float]:
    """Return a rate and its interval (Wilson, 1927) as `key`, `key_low` and `key_high`; nothing if the total is 0."""
    from scipy.stats import binomtest  # importing it takes a second; only do so when needed

    if total == 0:
        return {}
    interval = binomtest(successes, total).proportion_ci(0.95, method="wilson")
    bounds = {f"{key}_low": 100 * float(interval.low), f"{key}_high": 100 * float(interval.high)}
    return {key: 100 * successes / total} | bounds
