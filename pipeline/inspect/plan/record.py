"""The scale sheet as a tree for JSON, with all digits."""

from dataclasses import asdict
from typing import Any

from pipeline.inspect.plan.estimate import Estimate
from pipeline.inspect.plan.gpus import GPUS
from pipeline.inspect.plan.sheet import ExperimentSheet
from pipeline.inspect.plan.work import Work


def record_of(estimate: Estimate) -> dict[str, Any]:
    """Return the whole sheet."""
    sheet = estimate.sheet
    limits = [
        {**_named(limit.work), "hours": limit.hours, "limit": limit.allowed, "key": f"{limit.work.key}.minutes"}
        for limit in estimate.limits()
    ]
    return {
        "scale": sheet.scale,
        "gpu": estimate.gpu.name,
        "utilisation": estimate.utilisation,
        "jobs": {**sheet.jobs, "total": sheet.jobs.total()},
        "fetched": sheet.fetched,
        "gpu_hours": _gpu_hours(estimate, sheet.work),
        "experiments": {name: _experiment(estimate, found) for name, found in sheet.experiments.items()},
        "longest_jobs": limits,
        "measured": [asdict(entry) for entry in estimate.measured],
        "finished": [
            {"experiment": experiment, "run": run, "seconds": seconds}
            for (experiment, run), seconds in estimate.finished.items()
        ],
        "assumptions": estimate.assumptions(),
        "warnings": estimate.warnings(),
    }


def _experiment(estimate: Estimate, found: ExperimentSheet) -> dict[str, Any]:
    shape = found.shape
    return {
        "jobs": {**found.jobs, "total": found.jobs.total()},
        "data": {"length": shape.length, "vocabulary": shape.vocabulary.size, "rows": shape.rows},
        "networks": [
            {"network": label, "trained": trained, "parameters": count.parameters, "forward_flops": count.forward}
            for label, trained, count in found.networks.rows()
        ],
        "work": [
            {**_named(work), "network": work.network, "flops": work.flops, "gpu_hours": _gpu_hours(estimate, [work])}
            for work in found.work
        ],
        "gpu_hours": _gpu_hours(estimate, found.work),
        "disk": [asdict(need) for need in found.disk],
    }


def _named(work: Work) -> dict[str, Any]:
    return {"experiment": work.experiment, "rule": work.rule, "name": work.name, "precision": work.precision}


def _gpu_hours(estimate: Estimate, works: list[Work]) -> dict[str, float]:
    return {name: estimate.gpu_hours(works, gpu) for name, gpu in GPUS.items()}
