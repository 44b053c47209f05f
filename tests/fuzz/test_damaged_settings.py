"""Damaged configurations and command lines are checked and run, or refused with a message."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from apart import Attempt
from damage import changed, damaged, steps, tree_changes
from hypothesis import strategies as st
from tiny import TINY
from world import World

from pipeline.cli import command_modules, main

CONFIGS = Path(__file__).parents[2] / "config"
WORDS = [
    "",
    "-1",
    "0",
    "1",
    "nan",
    "1e999",
    "9" * 30,
    "x",
    "../x",
    "/",
    "/dev/null",
    "ü",
    "\n",
    "--",
    "-",
    "--set",
    "{}",
]


def test_configurations(holds: Callable[..., None], folder: Path) -> None:
    trees = {path.name: yaml.safe_load(path.read_text()) for path in CONFIGS.glob("*.yaml")} | {"tiny.yaml": TINY}
    file = folder / "in" / "config.yaml"

    def faults(case: tuple[str, list[tuple[str, float, Any]]]) -> list[str]:
        name, changes = case
        file.write_text(yaml.safe_dump(changed(trees[name], changes), allow_unicode=True), "utf-8", "replace")
        return Attempt(folder, partial(main, ["check", "--config", str(file)]), names=("config.yaml",)).faults()

    names = st.sampled_from([*["tiny.yaml"] * 6, "demo.yaml", "demo.yaml", "small.yaml", "paper.yaml"])
    holds(st.tuples(names, tree_changes()), faults)


def test_texts_of_configurations(holds: Callable[..., None], folder: Path) -> None:
    content, file = yaml.safe_dump(TINY).encode(), folder / "in" / "config.yaml"

    def faults(changes: list[Any]) -> list[str]:
        file.write_bytes(damaged(content, changes))
        return Attempt(folder, partial(main, ["check", "--config", str(file)]), names=("config.yaml",)).faults()

    holds(steps(), faults, few=20)


def test_command_lines(holds: Callable[..., None], folder: Path, world: World) -> None:
    tokens, weights = world.tokens("checkerboard"), world.at("models", "checkerboard/metric.safetensors")
    out = folder / "out"
    run = ["--experiment", "checkerboard", "--run", "metric"]
    text = ["generate-text", *world.config, "--run", "mask_ko", "--count", "1", "--output", out]
    crystals = ["generate-crystals", *world.config, "--run", "metric", "--count", "1", "--atoms", "2", "--output", out]
    known = [
        [*text, "--prefix", "One", "--seed", "3"],
        [*text, "--steps", "2", "--suffix", "wall."],
        [*crystals, "--chemical-system", "Na-Cl", "--seed", "3"],
        [*crystals, "--elements", "Na", "--exclude", "Li", "K"],
        ["generate-crystals", *world.config, "--run", "metric", "--formula", "NaCl", "--units", "1", "--output", out],
        ["sample", *world.config, *run, "--tokens", tokens, "--weights", weights, "--output", out / "samples"],
        ["prepare", *world.config, "--experiment", "checkerboard", "--output", out / "tokens"],
        ["check", *world.config, "--set", "seed=1", "experiments.checkerboard.training.steps=3"],
        ["fetch", *world.config, "--cache", out / "cache", "--order", "embedded"],
        ["trace", weights, "--json", out / "trace.json"],
        ["jobs", *world.config, "--output", out / "jobs.json"],
    ]
    commands = [[str(part) for part in line] for line in known]

    def faults(case: tuple[int, list[tuple[str, float, str]]]) -> list[str]:
        number, changes = case
        line = list(commands[number])
        for kind, where, word in changes:
            place = int(where * (len(line) - 1)) if line else 0
            if kind == "replace" and line:
                line[place] = word
            elif kind == "remove" and line:
                del line[place]
            elif kind == "add":
                line.insert(place, word)
            elif line:
                line[place] = line[place] + word
        return Attempt(folder, partial(main, line)).faults()

    flags = ["--count", "--steps", "--seed", "--atoms", "--keep", "--formula", "--charge-neutral", "--json", "--tokens"]
    words = st.sampled_from([*WORDS, *flags, *command_modules(), "metric", "ar", str(tokens), str(weights), str(out)])
    changes = st.tuples(st.sampled_from(["replace", "remove", "add", "extend"]), st.floats(0, 1), words)
    holds(st.tuples(st.integers(0, len(commands) - 1), st.lists(changes, min_size=1, max_size=4)), faults)
