"""One run to look at, or two to compare: settings, losses, figures and files, as text for a terminal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import Config, Experiment, Run
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.page.contents import losses_of, row_of
from pipeline.report.columns import HIGH, LOW, column_of, values_in
from pipeline.report.formats import pipe_table, rounded
from pipeline.report.summary import cell
from pipeline.store.provenance import read_record, sidecar_of

PLOT = (90, 16)  # characters and lines
WIDEST = 34  # characters of a value


@dataclass(frozen=True)
class FoundRun:
    """A run, its experiment, and the folder of the results."""

    experiment: str
    name: str
    block: Experiment
    results: Path

    @property
    def run(self) -> Run:
        """The run in the configuration."""
        return self.block.runs[self.name]

    @property
    def row(self) -> dict[str, Any]:
        """Its figures, conditions, files and state."""
        return row_of(self.block, self.experiment, self.name, self.results)


def find_run(config: Config, results: Path, name: str) -> FoundRun:
    """Return the run of a name such as `materials/mask_ko`, or `mask_ko` if one experiment has it."""
    known = [f"{experiment}/{run}" for experiment, block in config.experiments.items() for run in block.runs]
    fitting = [one for one in known if name in (one, one.partition("/")[2])]
    if not fitting:
        names = [*known, *dict.fromkeys(one.partition("/")[2] for one in known)]
        raise KinoflowError(f"run {name!r}: no experiment has it; {did_you_mean(name, names)}")
    if len(fitting) > 1:
        raise KinoflowError(f"run {name!r}: in several experiments; name one of {', '.join(fitting)}")
    experiment, _, run = fitting[0].partition("/")
    return FoundRun(experiment, run, config.experiments[experiment], results)


def text_of_run(found: FoundRun) -> str:
    """Return the settings, the loss during training, figures with intervals, and files."""
    row = found.row
    without: Any = {"training": {"resources"}, "sampling": {"resources"}}
    settings = found.run.model_dump(mode="json", exclude=without, exclude_none=True)
    parts = [f"{found.experiment}/{found.name}: {row['state']}\n"]
    parts.append(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None))
    losses = losses_of(found.results, found.experiment, found.block).get(found.run.weights or found.name)
    if losses:
        parts.append(loss_curve(losses))
    names = values_in(row["metrics"])
    if names:
        lines = [[column_of(name).heading, cell(row["metrics"], name)] for name in names]
        parts.append(pipe_table(["figure", "value"], lines))
    files = [[str(found.results / file), *_made(found.results / file)] for file in row["files"]]
    if files:
        parts.append(pipe_table(["file", "MB", "made", "seconds"], files))
    return "\n".join(parts)


def text_of_comparison(first: FoundRun, second: FoundRun) -> str:
    """Return the settings in which two runs differ, and their figures side by side."""
    titles = [f"{one.experiment}/{one.name}" for one in (first, second)]
    ours, theirs = (dict(_flat(one.run.model_dump(mode="json"))) for one in (first, second))
    different = [key for key in dict.fromkeys([*ours, *theirs]) if ours.get(key) != theirs.get(key)]
    lines = [[key, _short(ours.get(key)), _short(theirs.get(key))] for key in different]
    parts = [pipe_table(["setting", *titles], lines) if lines else "The settings are the same.\n"]
    if first.block.data != second.block.data:
        parts.append("The data are not the same: do not compare the figures.\n")
    one, other = first.row["metrics"], second.row["metrics"]
    names = [name for name in values_in([*one, *other]) if name in one and name in other]
    rows = [[column_of(name).heading, cell(one, name), cell(other, name), _verdict(name, one, other)] for name in names]
    parts.append(
        pipe_table(["figure", *titles, "difference"], rows) if rows else "They have no figures in common yet.\n"
    )
    return "\n".join(parts)


def loss_curve(losses: Mapping[str, list[float | None]]) -> str:
    """Return a drawing of the loss, and of the validation loss, by the step."""
    import plotext

    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(*PLOT)
    for key, label in (("loss", "training"), ("validation_loss", "validation")):
        points = [(step, value) for step, value in zip(losses["step"], losses[key], strict=True) if value is not None]
        if points:
            plotext.plot(*zip(*points, strict=True), label=label, marker="dot" if key == "loss" else "x")
    plotext.title("loss by step")
    return str(plotext.uncolorize(plotext.build())).rstrip("\n") + "\n"


def _verdict(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the difference of two figures, and which is better, if their intervals do not meet."""
    if isinstance(one[name], str) or isinstance(other[name], str):
        return ""
    text = rounded(float(other[name] - one[name]), 3)
    low, high, other_low, other_high = (row.get(name + end) for row in (one, other) for end in (LOW, HIGH))
    if low is None or high is None or other_low is None or other_high is None:
        return text
    return f"{text} (intervals meet)" if low <= other_high and other_low <= high else text


def _made(file: Path) -> list[str]:
    record = read_record(file) if sidecar_of(file).is_file() else {}
    seconds = record.get("wall_seconds")
    size = f"{file.stat().st_size / 1e6:.2f}"
    return [size, str(record.get("started", ""))[:19], "" if seconds is None else rounded(float(seconds), 3)]


def _flat(settings: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{at}{key}.")
        else:
            yield f"{at}{key}", value


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
