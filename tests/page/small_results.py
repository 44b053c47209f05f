"""Results of a small scale as a stopped run leaves them: some rows are scored, some are sampled, some have nothing."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml
from tiny import TINY, TINY_MATERIALS, TINY_TEXT, write_rhymes, write_salts

from pipeline.cli import main
from pipeline.store.parquet import read_table, write_table
from pipeline.store.places import Place

SCORED = ("metric", "data", "independent")


@dataclass(frozen=True)
class SmallResults:
    """A configuration, and the folder of its results."""

    config: Path
    folder: Path

    @classmethod
    def make(cls, place: Path) -> "SmallResults":
        """Run the stages of some rows."""
        write_salts(place)
        write_rhymes(place)
        checkerboard = TINY["experiments"]["checkerboard"]
        checkerboard = checkerboard | {"sampling": checkerboard["sampling"] | {"shards": 1}}
        data = TINY_MATERIALS["data"] | {"path": str(place / "salts.extxyz")}
        crystals = TINY_MATERIALS["crystals"] | {"hull": str(place / "entries.json")}
        corpus = TINY_TEXT["data"]["corpus"] | {"path": str(place / "rhymes")}
        experiments = {
            "checkerboard": checkerboard,
            "materials": TINY_MATERIALS | {"data": data, "crystals": crystals},
            "text": TINY_TEXT | {"data": TINY_TEXT["data"] | {"corpus": corpus}},
        }
        config = TINY | {"results": str(place / "results"), "experiments": experiments}
        (place / "tiny.yaml").write_text(yaml.safe_dump(config))
        made = cls(place / "tiny.yaml", place / "results/tiny")
        made._checkerboard()
        made._materials()
        made._text()
        return made

    def run(self, command: str, *arguments: str) -> None:
        """Run a command on the configuration."""
        assert main([command, "--config", str(self.config), *arguments]) == 0, (command, arguments)

    def at(self, place: Place, ending: str = "", experiment: str = "", name: str = "") -> str:
        """Return where a result lies."""
        return str(place.under(self.folder, ending, experiment=experiment, name=name))

    def _reference(self, experiment: str, name: str) -> str:
        tokens, samples = self.at(Place.TOKENS, "", experiment), self.at(Place.SAMPLES, "", experiment, name)
        said = ("--experiment", experiment, "--reference", name)
        self.run("reference", *said, "--tokens", tokens, "--output", samples)
        return samples

    def _checkerboard(self) -> None:
        board, tokens = "checkerboard", self.at(Place.TOKENS, "", "checkerboard")
        self.run("prepare", "--experiment", board, "--output", tokens)
        places = (Place.WEIGHTS, Place.TRAINED, Place.TRAINING_HISTORY, Place.SAMPLES)
        weights, metrics, history, samples = (self.at(place, "", board, "metric") for place in places)
        said = ("--experiment", board, "--run", "metric", "--tokens", tokens, "--weights", weights)
        checkpoints = str(self.folder / "checkpoints")
        self.run("train", *said, "--metrics", metrics, "--history", history, "--checkpoints", checkpoints)
        self.run("sample", *said, "--output", samples)
        for name in SCORED:
            drawn = samples if name == "metric" else self._reference(board, name)
            scores = self.at(Place.SCORES, "", board, name)
            given = ("--weights", weights) if name == "metric" else ()
            self.run("score", "--experiment", board, "--samples", drawn, "--tokens", tokens, *given, "--output", scores)

    def _materials(self) -> None:
        """Describe samples of the data; their relaxation is replaced by cells that are one percent larger."""
        salts, tokens = "materials", self.at(Place.TOKENS, "", "materials")
        rows, hull = self.at(Place.ROWS, "", salts), self.at(Place.HULL, "", salts)
        self.run("prepare", "--experiment", salts, "--output", tokens, "--rows", rows)
        self.run("hull", "--experiment", salts, "--rows", rows, "--output", hull)
        samples, described = self._reference(salts, "data"), self.at(Place.DESCRIBED, "", salts, "data")
        table, extxyz, cifs = (self.at(Place.CRYSTALS, end, salts, "data") for end in (".parquet", ".extxyz", ".zip"))
        said, written = ("--experiment", salts), ("--output", table, "--extxyz", extxyz, "--cifs", cifs)
        self.run("decode", *said, "--samples", samples, *written)
        self.run("describe", *said, "--crystals", table, "--output", described)
        relaxed = self.at(Place.RELAXED, "", salts, "data")
        write_table(Path(relaxed), larger(read_table(Path(table))))
        steps = steps_between(read_table(Path(table)), read_table(Path(relaxed)))
        write_table(Path(self.at(Place.TRAJECTORIES, "", salts, "data")), steps)
        parquet, csv = (self.at(Place.STRUCTURES, ending, salts, "data") for ending in (".parquet", ".csv"))
        given = ("--described", described, "--relaxed", relaxed, "--hull", hull, "--rows", rows)
        self.run("assess", *said, *given, "--output", parquet, "--csv", csv)

    def _text(self) -> None:
        tokens = self.at(Place.TOKENS, "", "text")
        self.run("prepare", "--experiment", "text", "--output", tokens)
        samples = self._reference("text", "data")
        text, lines = (self.at(Place.TEXTS, ending, "text", "data") for ending in (".txt", ".jsonl"))
        assert main(["texts", "--samples", samples, "--tokens", tokens, "--text", text, "--lines", lines]) == 0


def larger(crystals: pd.DataFrame) -> pd.DataFrame:
    """Return crystals as a table of relaxed ones, with one energy after the other."""
    frame = crystals.copy()
    frame["lengths"] = [[1.01 * side for side in sides] for sides in frame["lengths"]]
    energies = [-3.0 - 0.1 * number for number in range(len(frame))]
    return frame.assign(converged=True, steps=3, energy_per_atom=energies, max_force=0.01, rmsd=0.1)


def steps_between(crystals: pd.DataFrame, relaxed: pd.DataFrame) -> pd.DataFrame:
    """Return the first and the last step of relaxations."""
    ends = [frame[["id", "lengths", "angles", "fractions"]] for frame in (crystals, relaxed)]
    first, last = ends[0].assign(step=0, max_force=1.5), ends[1].assign(step=3, max_force=0.01)
    return pd.concat([first, last], ignore_index=True)
