"""Steps as blocks of `dvc.yaml`: those that differ by the name of a run or reference alone are one block."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.config import Config
from pipeline.errors import KinoflowError
from pipeline.inspect.dvc.steps import Step
from pipeline.store.places import Place

KEY, ITEM = "${key}", "${item}"  # in place of the run or reference, and of the run whose weights that has


@dataclass(frozen=True)
class Block:
    """A stage of DVC, or one for each name in `foreach`, which says whose weights each has."""

    name: str
    label: str
    experiment: str
    content: dict[str, Any]
    foreach: dict[str, str]


def blocks_of(config: Config, steps: Iterable[Step]) -> list[Block]:
    """Return the blocks of all steps, in their order."""
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        groups.setdefault((step.label, step.experiment), []).append(step)
    blocks: dict[str, Block] = {}
    for group in groups.values():
        for block in _blocks(config, group):
            if block.name in blocks:
                raise KinoflowError(f"dvc.yaml would have two stages {block.name!r}; rename an experiment")
            blocks[block.name] = block
    return list(blocks.values())


def names_of(config: Config, experiment: str) -> dict[str, dict[str, str]]:
    """Return the runs and references of an experiment by what they are called together, each with whose weights."""
    runs, references = config.experiments[experiment].runs, config.experiments[experiment].references
    weights = {name: run.weights or name for name, run in runs.items()}
    return {
        "runs": weights,
        "trained": {name: name for name, run in runs.items() if not run.weights},
        "searched": {name: weights[name] for name, run in runs.items() if run.sampling.searched},
        "references": {name: name for name in references},
        "rows": weights | {name: name for name in references},
    }


def _blocks(config: Config, steps: Sequence[Step]) -> Iterator[Block]:
    """Yield the blocks of one stage on one experiment; those after the first are called by what is in them."""
    label, experiment = steps[0].label, steps[0].experiment
    for number, (template, covered) in enumerate(_covers(steps)):
        foreach = {step.name: step.weights for step in covered if step.name}
        name = f"{label}_{experiment}"
        if number:
            known = names_of(config, experiment)
            kinds = (kind for kind in ("searched", "references") if foreach.keys() <= known[kind].keys())
            name += f"_{next(kinds, covered[0].name)}"
        yield Block(name, label, experiment, json.loads(template), foreach)


def _covers(steps: Sequence[Step]) -> list[tuple[str, list[Step]]]:
    """Return templates, each with the steps that it stands for, in the order of these; few, not always the fewest."""
    found, left = [], list(steps)
    while left:
        templates = dict.fromkeys(map(_template, left))
        widest = max(templates, key=lambda one: sum(_stands_for(one, step) for step in left))
        covered = [step for step in left if _stands_for(widest, step)]
        found.append((widest, covered))
        left = [step for step in left if step not in covered]
    return sorted(found, key=lambda one: steps.index(one[1][0]))


def _template(step: Step) -> str:
    """Return the content of a step with KEY and ITEM in place of its names."""
    text = json.dumps(step.content, ensure_ascii=False)
    if not step.name:
        return text
    weights = f'"${{to}}/{Place.WEIGHTS}"'.replace("{experiment}", step.experiment)
    if weights.replace("{name}", step.weights).strip('"') in step.content.get("deps", ()):
        text = text.replace(weights.replace("{name}", step.weights), weights.replace("{name}", ITEM))
    return re.sub(rf'(?<=[/.]){step.name}(?=[."])', lambda _: KEY, text)  # of a file, or at the end of a key


def _stands_for(template: str, step: Step) -> bool:
    """Return whether a template says the same as a step once it is filled in; a file may come twice."""
    filled = json.loads(template.replace(KEY, step.name).replace(ITEM, step.weights))
    one, other = ({**content, "deps": set(content.get("deps", ()))} for content in (filled, step.content))
    return bool(one == other)
