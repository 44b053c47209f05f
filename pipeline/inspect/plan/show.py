"""The scale sheet as text for a terminal, with aligned columns and short numbers, and for JSON, with all digits."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.plan.estimate import Estimate
from pipeline.inspect.plan.sheet import ExperimentSheet
from pipeline.inspect.plan.work import GPUS, Work

LONGEST = 34  # characters of a cell; more is cut off
WIDTH = 100


def shown(estimate: Estimate) -> str:
    """Return the whole sheet."""
    sections = {
        "Jobs of the workflow": _jobs(estimate),
        "Networks": _networks(estimate),
        f"GPU-hours, at {estimate.utilisation:g} of the peak": _hours(estimate),
        f"Longest jobs, on {estimate.gpu.name}, or here without GPUs": _longest(estimate),
        "Measured on this machine": _measured(estimate),
        "Finished trainings": _finished(estimate),
        "Disk": _disk(estimate),
        "Files to fetch, unless they are in data.cache": _files(estimate),
        "Assumptions": _listed(estimate.assumptions()),
        "Warnings": _listed(estimate.warnings() or ["none"]),
    }
    blocks = [[title, "=" * len(title), *lines] for title, lines in sections.items() if lines]
    return "\n\n".join("\n".join(block) for block in [[f"Scale {estimate.sheet.scale}"], *blocks]) + "\n"


def _jobs(estimate: Estimate) -> list[str]:
    sheets, total = estimate.sheet.experiments, estimate.sheet.jobs
    counts = [*(sheet.jobs for sheet in sheets.values()), total]
    rules = [*dict.fromkeys(rule for sheet in sheets.values() for rule in sheet.jobs), "fetch", "all"]
    rows = [[rule, *(f"{jobs[rule]:,}" if jobs[rule] else "" for jobs in counts)] for rule in rules]
    rows.append(["total", *(f"{jobs.total():,}" for jobs in counts)])
    return _columns(["rule", *sheets, "total"], rows)


def _networks(estimate: Estimate) -> list[str]:
    rows = []
    for name, sheet in estimate.sheet.experiments.items():
        of_runs = [f"{sheet.shape.length:,}", f"{sheet.shape.vocabulary.size:,}"]
        for label, trained, count in sheet.networks.rows():
            counted = [str(trained), f"{count.parameters / 1e6:,.2f}", _short(count.forward / 1e9)]
            rows.append([name, label, *counted, *(of_runs if label in sheet.networks.trained else ["", ""])])
    header = ["experiment", "network", "trained", "M param.", "GFLOP", "length", "vocabulary"]
    return [*_columns(header, rows, left=2), "M param.: million parameters; GFLOP: of a forward pass over one sequence"]


def _hours(estimate: Estimate) -> list[str]:
    rows = []
    for name, sheet in estimate.sheet.experiments.items():
        for rule in dict.fromkeys(work.rule for work in sheet.work):
            rows.append([name, rule, *_figures(estimate, [work for work in sheet.work if work.rule == rule])])
        rows.append([name, "together", *_figures(estimate, sheet.work)])
    rows.append(["all", "", *_figures(estimate, estimate.sheet.work)])
    here = ["hours here"] if estimate.measured else []
    return _columns(["experiment", "rule", "FLOP", "arithmetic", *GPUS, *here], rows, left=2)


def _figures(estimate: Estimate, works: list[Work]) -> list[str]:
    """Return the cells of a row of the table of GPU-hours; a ">" says that not all hours here are known."""
    flops, arithmetic = f"{sum(work.flops for work in works):.2e}", {work.precision for work in works}
    cells = [flops, arithmetic.pop() if len(arithmetic) == 1 else "both"]
    cells += [_short(estimate.gpu_hours(works, gpu)) for gpu in GPUS.values()]
    if estimate.measured:
        hours = [estimate.hours_here(work) for work in works]
        known = [number for number in hours if number is not None]
        cells.append(("> " if len(known) < len(hours) else "") + _short(sum(known)) if known else "unknown")
    return cells


def _longest(estimate: Estimate) -> list[str]:
    rows = []
    for limit in estimate.limits():
        work, numbers = limit.work, (_short(limit.hours), _short(limit.allowed))
        rows.append([work.experiment, work.rule, work.name or "-", str(limit.names), str(work.gpus), *numbers])
    header = ["experiment", "rule", "longest", "of", "GPUs", "hours", "limit"]
    lines = _columns(header, rows, left=3) if rows else []
    if not estimate.measured and not all(work.gpus for work in estimate.sheet.work):
        lines.append("jobs without GPUs are estimated with --measure only")
    return lines


def _measured(estimate: Estimate) -> list[str]:
    rows = [
        [entry.experiment, entry.network, str(entry.batch), f"{entry.seconds:.4f}", f"{entry.flops_per_second:.2e}"]
        for entry in estimate.measured
    ]
    header = ["experiment", "network", "batch", "seconds a step", "FLOP/s"]
    return [estimate.measured[0].device, *_columns(header, rows, left=2)] if rows else []


def _finished(estimate: Estimate) -> list[str]:
    flops = {(work.experiment, work.name): work.flops for work in estimate.sheet.work if work.rule == "train"}
    rows = [
        [experiment, run, _short(seconds / 3600), f"{flops[experiment, run] / seconds:.2e}"]
        for (experiment, run), seconds in estimate.finished.items()
        if (experiment, run) in flops and seconds > 0
    ]
    return _columns(["experiment", "run", "hours", "FLOP/s"], rows, left=2) if rows else []


def _disk(estimate: Estimate) -> list[str]:
    sheets, rows = estimate.sheet.experiments, []
    for kept, title in ((True, "kept"), (False, "a while")):
        found = [{need.what: need.size for need in sheet.disk if need.kept == kept} for sheet in sheets.values()]
        for what in dict.fromkeys(what for sizes in found for what in sizes):
            rows.append([what, title, *(_size(sizes[what]) if what in sizes else "" for sizes in found), ""])
        sums = [list(sizes.values()) for sizes in found]
        rows.append(["together", title, *map(_together, [*sums, [number for numbers in sums for number in numbers]])])
    return _columns(["files", "", *sheets, "all"], rows, left=2)


def _files(estimate: Estimate) -> list[str]:
    sizes = [(name, CATALOGUE[name].size if name in CATALOGUE else None) for name in estimate.sheet.fetched]
    return _columns(["file", "size"], [[name, _size(size)] for name, size in sizes]) if sizes else []


def _together(sizes: list[int | None]) -> str:
    """Return the sum of the known sizes, with a ">" if not all are known."""
    return ("> " if None in sizes else "") + _size(sum(filter(None, sizes)))


def _listed(items: list[str]) -> list[str]:
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)
    return [line for item in items for line in wrapper.wrap(item)]


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table; the first `left` columns are aligned to the left, the others to the right."""
    cells = [[cell if len(cell) <= LONGEST else f"{cell[: LONGEST - 1]}…" for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        aligned = [f"{cell:{'<' if n < left else '>'}{widths[n]}}" for n, cell in enumerate(row)]
        lines.append("  ".join(aligned).rstrip())
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _short(value: float) -> str:
    """Return a number with three digits, such as 7,810 or 0.0565 or 3.07e+21."""
    return f"{value:,.0f}" if 100 <= value < 1e7 else f"{value:.3g}"


def _size(number: int | None) -> str:
    """Return a number of bytes in a suitable unit."""
    if number is None:
        return "unknown"
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value >= 1000:
            value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


def record_of(estimate: Estimate) -> dict[str, Any]:
    """Return the whole sheet for JSON."""
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
