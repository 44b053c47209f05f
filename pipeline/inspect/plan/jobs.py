"""The jobs of the workflow: how many of each stage an experiment needs, and the files that are fetched for it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Config
from pipeline.inspect.planned import all_jobs, needs_of
from pipeline.stages import load_stages
from pipeline.stages.job import Job


def jobs_of(experiment: Job) -> Counter[str]:
    """Return how many jobs of each stage, except fetching, an experiment needs if nothing is done yet."""
    jobs: Counter[str] = Counter()
    for stage in load_stages().values():
        jobs[stage.name] += sum(count for _, count in stage.jobs(experiment))
    return +jobs  # without stages that have no jobs


def fetched_files(config: Config) -> list[str]:
    """Return the catalogue names of the files that the workflow would fetch: those that the cache lacks."""
    return [name for name in needed_files(config) if not (Path(config.data.cache) / name).is_file()]


def needed_files(config: Config, *experiments: str) -> Iterator[str]:
    """Yield the catalogue names of all files that the experiments need, or that those named need."""
    needs = needs_of(all_jobs(config, *experiments))
    yield from dict.fromkeys(name for need in needs for name in need.fetched)
