"""A folder with tiny experiments, prepared and trained by their own commands, for tests of what users do."""

from dataclasses import dataclass
from pathlib import Path

import yaml
from tiny import TINY, TINY_MATERIALS, TINY_TEXT, write_rhymes, write_salts

from pipeline.cli import main

RUNS = {"checkerboard": "metric", "materials": "metric", "text": "mask_ko"}


@dataclass(frozen=True)
class World:
    """The folder; results lie where the workflow puts them."""

    folder: Path

    @classmethod
    def begun(cls, folder: Path) -> "World":
        """Return a folder with the configuration and its data, in which nothing has run."""
        write_rhymes(folder)
        write_salts(folder)
        materials, text = dict(TINY_MATERIALS), dict(TINY_TEXT)
        materials["data"] = materials["data"] | {"path": str(folder / "salts.extxyz")}
        materials["crystals"] = materials["crystals"] | {"hull": str(folder / "entries.json")}
        text["data"] = text["data"] | {"corpus": {"name": "files", "path": str(folder / "rhymes")}}
        experiments = TINY["experiments"] | {"materials": materials, "text": text}
        folders = {"results": str(folder / "results"), "data": {"cache": str(folder / "cache")}}
        (folder / "tiny.yaml").write_text(yaml.safe_dump(TINY | folders | {"experiments": experiments}))
        return cls(folder)

    @property
    def config(self) -> list[str]:
        """The flags that name the configuration."""
        return ["--config", str(self.folder / "tiny.yaml")]

    def at(self, kind: str, name: str) -> Path:
        """Return where a result lies."""
        return self.folder / "results" / "tiny" / kind / name

    def run(self, *arguments: object) -> int:
        """Run a command with the configuration, and return its exit status."""
        command, *rest = map(str, arguments)
        return main([command, *self.config, *rest])

    def prepare(self, experiment: str) -> int:
        """Prepare the tokens of an experiment."""
        given = ["--rows", self.at("rows", f"{experiment}.parquet")] if experiment == "materials" else []
        return self.run("prepare", "--experiment", experiment, "--output", self.tokens(experiment), *given)

    def tokens(self, experiment: str) -> Path:
        """Return where the tokens of an experiment lie."""
        return self.at("tokens", f"{experiment}.safetensors")

    def train(self, experiment: str, run: str) -> int:
        """Train a run."""
        weights = self.at("models", f"{experiment}/{run}.safetensors")
        files = {"weights": weights, "metrics": weights.with_suffix(".json"), "history": weights.with_suffix(".csv")}
        files |= {"tokens": self.tokens(experiment), "checkpoints": self.at("checkpoints", f"{experiment}/{run}")}
        flags = [part for name, file in files.items() for part in (f"--{name}", file)]
        return self.run("train", "--experiment", experiment, "--run", run, *flags)


def new_world(folder: Path) -> World:
    """Return a folder in which one run of each experiment is trained."""
    world = World.begun(folder)
    for experiment, run in RUNS.items():
        assert world.prepare(experiment) == 0
        assert world.train(experiment, run) == 0
    assert world.train("text", "ar") == 0
    return world
