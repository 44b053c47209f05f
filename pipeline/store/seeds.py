"""Seeds derived from a run's seed and the names of what is drawn, so that no two uses share a stream of numbers."""

import hashlib
import json


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a seed of 63 bits that is a fixed function of `seed` and `names`."""
    digest = hashlib.sha256(json.dumps([seed, *names]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
