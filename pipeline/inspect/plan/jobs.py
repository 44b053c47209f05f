"""The jobs of the workflow: how many of each stage an experiment takes, and the files that are fetched for it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Config
from pipeline.inspect.planned import all_jobs, needs_of
from pipeline.stages import load_stages
from pipeline.stages.job import Job


def jobs_of(experiment: Job) -> Counter[str]:
    """Return how many jobs of each stage an experiment takes, but for fetching, if nothing of it is done yet."""
    jobs: Counter[str] = Counter()
    for stage in load_stages().values():
        jobs[stage.name] += sum(count for _, count in stage.jobs(experiment))
    return +jobs  # without those that are not planned


def fetched_files(config: Config) -> list[str]:
    """Return the names in the catalogue of the files that the workflow would fetch: those that the cache has not."""
    return [name for name in needed_files(config) if not (Path(config.data.cache) / name).is_file()]


def needed_files(config: Config, *experiments: str) -> Iterator[str]:
    """Yield the names in the catalogue of all files that experiments need: all of them, or these."""
    needs = needs_of(all_jobs(config, *experiments))
    yield from dict.fromkeys(name for need in needs for name in need.fetched)
