"""The text of `dvc.yaml`."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.blocks import Block, blocks_of, names_of
from pipeline.inspect.dvc.steps import steps_of
from pipeline.inspect.dvc.workflow import workflow_jobs
from pipeline.store.places import Place

WIDTH = 95  # from here on, a line is broken at the next space
HEADER = """\
# Made by `python -m pipeline dvc --config {config} --output dvc.yaml`. Do not edit it; make it again.
# Each stage is one call of the workflow. Besides files it depends on what `jobs.json` says of its jobs: their part of
# the configuration, and a hash of their code. DVC removes outs before a stage runs, but not the shards of a stage that
# was stopped: so Snakemake, too, looks at the parameters of its jobs. The profile (cores or cluster) comes from
# SNAKEMAKE_PROFILE, not from here: where a stage runs is no change of it.
# `${{key}}` is a run or reference, `${{item}}` the run whose weights it has, `${{of}}` an experiment or a group of
# fetched files. `&train` names what a stage says, and `<<: *train` takes it over.
"""
OF = "${of}"  # in place of the experiment
CALL = "--cores all --rerun-incomplete --rerun-triggers mtime params --allowed-rules"


def dvc_text(file: Path) -> str:
    """Return the text of `dvc.yaml` for the configuration in a file."""
    config = load_config(file)
    read = Path("config", f"{config.scale}.yaml")
    if not read.is_file() or not read.samefile(file):
        raise KinoflowError(f"{file}: the workflow reads {read}; move the file there, or change its `scale`")
    return _text(config, read, blocks_of(config, steps_of(config, workflow_jobs(config))))


def _text(config: Config, file: Path, blocks: Sequence[Block]) -> str:
    """Return first the stage that says what jobs depend on, then the blocks."""
    jobs = f"${{to}}/{Place.JOBS}"
    stages: dict[str, Any] = {
        "jobs": {
            "cmd": f"python -m pipeline jobs --config {file} --output {jobs}",
            **(
                {"deps": ["pipeline"]} if Path("pipeline").is_dir() else {"always_changed": True}
            ),  # an installed package
            "params": [{str(file): None}],
            "outs": [jobs],
        }
    }
    names: dict[str, dict[str, _Line]] = {}
    for block, said in zip(blocks, _mappings(blocks), strict=True):
        if not block.foreach:
            stages[block.name] = said
            continue
        listed: Any = _Line(block.foreach)
        known = names_of(config, block.experiment)
        if kind := next((kind for kind, found in known.items() if found == block.foreach), None):
            names.setdefault(block.experiment, {})[kind] = _Line(known[kind])
            listed = f"${{names.{block.experiment}.{kind}}}"
        stages[block.name] = {"foreach": listed, "do": said}
    call = CALL if config.scale == "demo" else f"--config scale={config.scale} {CALL}"
    given = {"vars": [{"call": call}, {"to": f"{config.results}/{config.scale}"}, {"names": names}]}
    apart = re.sub(r"(?<!^stages:)\n(?=  \S)", "\n\n", _dumped({"stages": stages}))
    return "\n".join([HEADER.format(config=file) + _dumped(given), apart, _dumped({"plots": _plots(config)})])


def _plots(config: Config) -> list[dict[str, Any]]:
    """Return one plot per experiment, of the losses of all runs with networks of their own."""
    folder, plots = Path(config.results) / config.scale, []
    for name, experiment in config.experiments.items():
        trained = [run for run, chosen in experiment.runs.items() if chosen.weights is None]
        files = [str(Place.TRAINING_HISTORY.under(folder, experiment=name, name=run)) for run in trained]
        content = {"x": "step", "y": dict.fromkeys(files, "loss"), "title": f"{name}: losses of all runs"}
        plots.append({f"losses_{name}": content})
    return plots


class _Shared(dict[str, Any]):
    """A mapping that others may take over, by its anchor; `name` is that of its block."""

    name = anchor = ""


class _Line(dict[str, Any]):
    """A mapping on one line."""


class _Row(list[Any]):
    """A list on one line."""


class _Merge(str):
    """The key that takes over another mapping."""


class _Dumper(yaml.SafeDumper):
    """Indents the entries of lists, and gives anchors the names that were chosen for them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return not isinstance(data, _Shared)

    def generate_anchor(self, node: Any) -> str:
        return str(node.name_of_anchor)


def _shared(dumper: yaml.SafeDumper, data: _Shared) -> yaml.Node:
    node = dumper.represent_dict(data)
    node.name_of_anchor = data.anchor  # type: ignore[attr-defined]
    return node


_Dumper.add_representer(_Shared, _shared)
_Dumper.add_representer(_Line, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, True))
_Dumper.add_representer(_Row, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, True))
_Dumper.add_representer(_Merge, lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:merge", data))


def _mappings(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return what each block says: all of it, or what differs from an earlier block of the same stage."""
    found: list[dict[str, Any]] = []
    whole: dict[str, list[_Shared]] = {}  # by stage
    for block in blocks:
        text = json.dumps(block.content, ensure_ascii=False)
        content = _lines(json.loads(re.sub(rf'(?<=[/."]){block.experiment}(?![A-Za-z0-9])', OF, text)))
        of, bases = {"vars": _Row([{"of": block.experiment}])}, whole.setdefault(block.label, [])
        differing = [
            (base, {key: value for key, value in content.items() if base.get(key) != value})
            for base in bases
            if base.keys() - of.keys() <= content.keys()
        ]
        base, own = min(differing, key=lambda one: len(one[1]), default=(None, content))
        if base is None or len(own) > len(content) - 2:
            bases.append(_Shared(of | content))
            bases[-1].name = block.name
            found.append(bases[-1])
        else:
            first = not any(other.anchor for other in bases)
            base.anchor = base.anchor or (block.label if first else base.name)
            over = {_Merge("<<"): base, **of, **own}
            found.append(over if own else _Line(over))
    return [
        _lines(block.content) if isinstance(said, _Shared) and not said.anchor else said
        for block, said in zip(blocks, found, strict=True)
    ]


def _lines(content: dict[str, Any]) -> dict[str, Any]:
    """Return what a stage says; what is said of a file is on its line."""
    kinds: dict[type, Any] = {dict: _Line, list: _Row}

    def line(entry: Any) -> Any:
        return {path: kinds[type(said)](said) for path, said in entry.items()} if isinstance(entry, dict) else entry

    return {key: list(map(line, value)) if isinstance(value, list) else value for key, value in content.items()}


def _dumped(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
