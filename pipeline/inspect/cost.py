"""What results have cost: the CPU time, time and memory that Snakemake measured for each job."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pipeline.errors import KinoflowError
from pipeline.report.formats import Row, as_csv, pipe_table

COLUMNS = ("rule", "experiment", "run", "jobs", "core_minutes", "minutes", "memory_mb")
_TOGETHER = "together"


@dataclass(frozen=True)
class Cost:
    """What one job cost: its rule, experiment, run or reference ("": none), CPU seconds, seconds and peak memory."""

    rule: str
    experiment: str
    run: str
    cpu: float
    seconds: float
    memory_mb: float


def costs_of(folder: Path, experiments: Sequence[str]) -> list[Cost]:
    """Return the costs of all jobs below a folder of benchmarks, `<rule>/<experiment>/<run>.tsv` or a file per shard.

    What a further file of an experiment cost, such as `<experiment>_protocols`, counts for the experiment.
    """
    found = []
    for file in sorted(folder.rglob("*.tsv")):
        rule, experiment, *rest = file.relative_to(folder).with_suffix("").parts
        if experiment not in experiments:
            experiment = next((name for name in experiments if experiment.startswith(f"{name}_")), experiment)
        try:
            with file.open(encoding="utf-8", newline="") as stream:
                (line,) = csv.DictReader(stream, delimiter="\t")
            cpu, seconds, memory = (_number(line[key]) for key in ("cpu_time", "s", "max_rss"))
        except (ValueError, KeyError, OSError) as error:
            reason = f"no benchmark of one job ({error}); remove it and run the job again"
            raise KinoflowError(f"{file}: {reason}") from error
        found.append(Cost(rule, experiment, rest[0] if rest else "", cpu, seconds, memory))
    if not found:
        raise KinoflowError(f"{folder}: has no benchmarks; run the workflow first")
    return found


def csv_of(costs: Sequence[Cost]) -> str:
    """Return one row per rule, experiment and run, with the jobs of its shards together."""
    groups: dict[tuple[str, str, str], list[Cost]] = {}
    for cost in costs:
        groups.setdefault((cost.rule, cost.experiment, cost.run), []).append(cost)
    rows: list[Row] = [
        {
            "rule": rule,
            "experiment": experiment,
            "run": run,
            "jobs": len(those),
            "core_minutes": round(sum(one.cpu for one in those) / 60, 3),
            "minutes": round(sum(one.seconds for one in those) / 60, 3),
            "memory_mb": round(max(one.memory_mb for one in those)),
        }
        for (rule, experiment, run), those in groups.items()
    ]
    return as_csv(rows, COLUMNS)


def text_of(costs: Sequence[Cost]) -> str:
    """Return the core-minutes by rule and experiment, the most expensive first."""
    spent: dict[tuple[str, str], float] = {}
    for cost in costs:
        for key in product((cost.rule, _TOGETHER), (cost.experiment, _TOGETHER)):
            spent[key] = spent.get(key, 0.0) + cost.cpu / 60
    ranked = sorted(spent, key=lambda key: -spent[key])
    rules, experiments = (list(dict.fromkeys(key[place] for key in ranked)) for place in (0, 1))
    lines = [[rule, *(f"{spent.get((rule, one), 0):.1f}" for one in experiments)] for rule in rules]
    table = pipe_table(["core-minutes", *experiments], lines)
    hours = f"{spent[_TOGETHER, _TOGETHER] / 60:.2f} core-hours"
    return f"{table}\n{len(costs)} jobs, {hours}. Of a job that was interrupted, only its last try counts.\n"


def _number(text: str) -> float:
    return 0.0 if text in ("-", "NA") else float(text)  # a job that was over before it could be measured
