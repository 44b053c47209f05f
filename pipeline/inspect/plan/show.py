"""The scale sheet as text for a terminal."""

import textwrap
from collections.abc import Iterator

from pipeline.inspect.plan.assumptions import assumptions_of
from pipeline.inspect.plan.columns import WIDTH, columns, short, size
from pipeline.inspect.plan.estimate import Estimate
from pipeline.inspect.plan.gpus import GPUS
from pipeline.inspect.plan.work import Work


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
        "Assumptions": _listed(assumptions_of(estimate)),
        "Warnings": _listed(estimate.warnings() or ["none"]),
    }
    blocks = [[title, "=" * len(title), *lines] for title, lines in sections.items() if lines]
    return "\n\n".join("\n".join(block) for block in [[f"Scale {estimate.sheet.scale}"], *blocks]) + "\n"


def _jobs(estimate: Estimate) -> list[str]:
    sheets, total = estimate.sheet.experiments, estimate.sheet.jobs
    rules = dict.fromkeys(rule for sheet in sheets.values() for rule in sheet.jobs)
    rows = [[rule, *(_count(sheet.jobs[rule]) for sheet in sheets.values()), _count(total[rule])] for rule in rules]
    rows += [[rule, *[""] * len(sheets), _count(total[rule])] for rule in ("fetch", "all")]
    rows.append(["total", *(_count(sheet.jobs.total()) for sheet in sheets.values()), _count(total.total())])
    return columns(["rule", *sheets, "total"], rows)


def _networks(estimate: Estimate) -> list[str]:
    rows = [
        [
            name,
            label,
            str(trained),
            f"{count.parameters / 1e6:,.2f}",
            short(count.forward / 1e9),
            f"{sheet.shape.length:,}" if label in sheet.networks.trained else "",
            f"{sheet.shape.vocabulary.size:,}" if label in sheet.networks.trained else "",
        ]
        for name, sheet in estimate.sheet.experiments.items()
        for label, trained, count in sheet.networks.rows()
    ]
    header = ["experiment", "network", "trained", "M param.", "GFLOP", "length", "vocabulary"]
    return [*columns(header, rows, left=2), "M param.: million parameters; GFLOP: of a forward pass over one sequence"]


def _hours(estimate: Estimate) -> list[str]:
    rows = []
    for name, sheet in estimate.sheet.experiments.items():
        for rule in dict.fromkeys(work.rule for work in sheet.work):
            rows.append([name, rule, *_figures(estimate, [work for work in sheet.work if work.rule == rule])])
        rows.append([name, "together", *_figures(estimate, sheet.work)])
    rows.append(["all", "", *_figures(estimate, estimate.sheet.work)])
    here = ["hours here"] if estimate.measured else []
    return columns(["experiment", "rule", "FLOP", "arithmetic", *GPUS, *here], rows, left=2)


def _figures(estimate: Estimate, works: list[Work]) -> list[str]:
    """Return the cells of a row of the table of GPU-hours."""
    arithmetic = {work.precision for work in works}
    hours = [short(estimate.gpu_hours(works, gpu)) for gpu in GPUS.values()]
    here = [_hours_here(estimate, works)] if estimate.measured else []
    flops = f"{sum(work.flops for work in works):.2e}"
    return [flops, arithmetic.pop() if len(arithmetic) == 1 else "both", *hours, *here]


def _hours_here(estimate: Estimate, works: list[Work]) -> str:
    """Return the hours on this machine of what was measured, with a ">" if not all was."""
    hours = [estimate.hours_here(work) for work in works]
    known = [number for number in hours if number is not None]
    return ("> " if len(known) < len(hours) else "") + short(sum(known)) if known else "unknown"


def _longest(estimate: Estimate) -> list[str]:
    rows = [
        [
            limit.work.experiment,
            limit.work.rule,
            limit.work.name or "-",
            str(limit.names),
            str(limit.work.gpus),
            short(limit.hours),
            short(limit.allowed),
        ]
        for limit in estimate.limits()
    ]
    header = ["experiment", "rule", "longest", "of", "GPUs", "hours", "limit"]
    without = "jobs without GPUs are estimated with --measure only"
    if estimate.measured or all(work.gpus for work in estimate.sheet.work):
        without = ""
    return [*(columns(header, rows, left=3) if rows else []), *([without] if without else [])]


def _measured(estimate: Estimate) -> list[str]:
    rows = [
        [entry.experiment, entry.network, str(entry.batch), f"{entry.seconds:.4f}", f"{entry.flops_per_second:.2e}"]
        for entry in estimate.measured
    ]
    header = ["experiment", "network", "batch", "seconds a step", "FLOP/s"]
    return [estimate.measured[0].device, *columns(header, rows, left=2)] if rows else []


def _finished(estimate: Estimate) -> list[str]:
    flops = {(work.experiment, work.name): work.flops for work in estimate.sheet.work if work.rule == "train"}
    rows = [
        [experiment, run, short(seconds / 3600), f"{flops[experiment, run] / seconds:.2e}"]
        for (experiment, run), seconds in estimate.finished.items()
        if (experiment, run) in flops and seconds > 0
    ]
    return columns(["experiment", "run", "hours", "FLOP/s"], rows, left=2) if rows else []


def _disk(estimate: Estimate) -> list[str]:
    sheets, rows = estimate.sheet.experiments, []
    for kept, title in ((True, "kept"), (False, "a while")):
        found = {name: [need for need in sheet.disk if need.kept == kept] for name, sheet in sheets.items()}
        for what in dict.fromkeys(need.what for needs in found.values() for need in needs):
            sizes = [[need.size for need in needs if need.what == what] for needs in found.values()]
            rows.append([what, title, *(size(cell[0]) if cell else "" for cell in sizes)])
        sums = [[need.size for need in needs] for needs in found.values()]
        rows.append(["together", title, *map(_together, sums)])
        rows[-1].append(_together([number for numbers in sums for number in numbers]))
    return columns(["files", "", *sheets, "all"], [row + [""] * (len(sheets) + 3 - len(row)) for row in rows], left=2)


def _together(sizes: list[int | None]) -> str:
    """Return the sum of the known sizes, with a ">" if not all are known."""
    return ("> " if None in sizes else "") + size(sum(number for number in sizes if number is not None))


def _listed(items: list[str]) -> list[str]:
    return [line for item in items for line in _wrapped(item)]


def _wrapped(item: str) -> Iterator[str]:
    yield from textwrap.wrap(item, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def _count(number: int) -> str:
    return f"{number:,}" if number else ""
