"""Work in shards: which part of it each of several jobs does."""

from pipeline.errors import KinoflowError


def part_of(count: int, shard: int, shards: int) -> range:
    """Return which of `count` things shard 0, 1, ..., shards - 1 does: consecutive ones, as many as the others do."""
    if not 0 <= shard < shards:
        raise KinoflowError(f"shard {shard} of {shards}: shards are numbered 0 to {shards - 1}")
    return range(count * shard // shards, count * (shard + 1) // shards)
