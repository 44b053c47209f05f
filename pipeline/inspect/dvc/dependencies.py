"""What each job depends on besides files: its part of the configuration, and its code."""

import json
from typing import Any

from pipeline.config import Config
from pipeline.inspect.planned import all_jobs


def dependencies_of(config: Config) -> dict[str, Any]:
    """Return settings and code by stage, experiment and, where a stage works on one, run or reference."""
    found: dict[str, Any] = {}
    for stage, job in all_jobs(config):
        known = {"settings": json.loads(stage.settings_text(job)), "code": stage.code(job)[:16]}
        experiments = found.setdefault(stage.name, {})
        if job.name:
            experiments.setdefault(job.experiment, {})[job.name] = known
        else:
            experiments[job.experiment] = known
    return found
