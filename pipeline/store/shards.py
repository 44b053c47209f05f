"""Work split into shards, one for each of several jobs."""

from pipeline.errors import KinoflowError


def part_of(count: int, shard: int, shards: int) -> range:
    """Return the range of `count` items for shard 0, 1, ..., shards - 1; all shards get almost equally many."""
    if not 0 <= shard < shards:
        raise KinoflowError(f"shard {shard} of {shards}: shards are numbered 0 to {shards - 1}")
    return range(count * shard // shards, count * (shard + 1) // shards)
