"""The flags that choose a configuration, experiment and run, and what they are loaded as."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.config import Config, Experiment
from pipeline.config.loading import load_layered, parse_setting
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.stages import parameters
from pipeline.stages.job import Job, RunJob
from pipeline.stages.parameters import ConfigFile, Settings
from pipeline.store.places import Place


@dataclass(frozen=True)
class Given:
    """A configuration file and values over it; it is read when it is first asked for, as shipped weights need none."""

    file: Path
    settings: Sequence[str] = ()

    @cached_property
    def config(self) -> Config:
        """The configuration."""
        return load_layered(self.file, map(parse_setting, self.settings))

    @property
    def results(self) -> Path:
        """The folder of the scale's results."""
        return Path(self.config.results) / self.config.scale

    @property
    def page(self) -> Path:
        """The folder of the results page."""
        return self.results / Path(Place.PAGE.value).parent

    def only(self, experiments: Sequence[str]) -> Config:
        """Return the configuration with these experiments only; without any, with all."""
        chosen = {name: self.experiment(name) for name in experiments}
        return self.config.model_copy(update={"experiments": chosen}) if chosen else self.config

    def experiment(self, name: str) -> Experiment:
        """Return an experiment; it is an error if there is none of this name."""
        if name not in self.config.experiments:
            hint = did_you_mean(name, list(self.config.experiments))
            raise KinoflowError(f"--experiment {name!r}: not in {self.file}; {hint}")
        return self.config.experiments[name]

    def job(self, experiment: str, run: str) -> Job:
        """Return a job on a run; it is an error if there is none of this name."""
        runs = list(self.experiment(experiment).runs)
        if run not in runs:
            raise KinoflowError(f"--run {run!r}: not in {self.file}; {did_you_mean(run, runs)}")
        return RunJob(self.config, experiment, run)

    def elsewhere(self, path: Path) -> str:
        """Return a remark if another scale has the result that this one lacks."""
        scales = [folder for folder in sorted(Path(self.config.results).glob("*")) if folder != self.results]
        inside = path.relative_to(self.results) if path.is_relative_to(self.results) else path.absolute()
        found = [folder.name for folder in scales if (folder / inside).is_file()]
        return f"; the scale {found[0]} has it: --config config/{found[0]}.yaml" if found else ""

    def trained(self, job: Job, tokens: Path | None, weights: Path | None) -> tuple[Path, Path]:
        """Return the tokens and weights of a finished run: the given files, or those in the scale's results."""
        run = job.run.weights or job.name
        known = Place.WEIGHTS.under(self.results, experiment=job.experiment, name=run)
        tokens = tokens or Place.TOKENS.under(self.results, experiment=job.experiment)
        for path in (tokens, weights or known):
            if not path.is_file():
                train = f"snakemake --cores all --config scale={self.config.scale} -- {known}"
                hint = f"train the run with `{train}`, or name another file{self.elsewhere(path)}"
                raise KinoflowError(f"{path}: no such file; {hint}")
        note_differences(job, weights or known)
        return tokens, weights or known

    def tokenizer(self, job: Job) -> Path | None:
        """Return the tokenizer of an experiment on codes, in the scale's results; None: others have none."""
        if job.block.tokenizer is None:
            return None
        tokenizer = Place.TOKENIZER.under(self.results, ".safetensors", experiment=job.experiment)
        if not tokenizer.is_file():
            raise KinoflowError(f"{tokenizer}: no such file; train the tokenizer, or name another file")
        return tokenizer


def note_differences(job: Job, weights: Path) -> None:
    """Say which values of the configuration do not count, because the network was trained with others."""
    from pipeline.store.arrays import read_description  # imports numpy

    trained = read_description(weights, "weights")
    asked = job.run.model_dump(mode="json", include={"model", "path", "loss"})
    for key, value in asked.items():
        if key in trained and trained[key] != value:
            ours, theirs = ({"name": None} | (one or {}) for one in (value, trained[key]))
            for name in [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]:
                key_of_it = f"runs.{job.name}.{key}.{name}"
                used = f"{theirs.get(name)} counts, with which {weights} was trained"
                print(f"note: {key_of_it} = {ours.get(name)} is ignored: {used}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Which configuration."""

    config: ConfigFile = Path("config/demo.yaml")
    set: Settings = ()

    def given(self) -> Given:
        """Return the configuration."""
        return Given(self.config, self.set)

    def loaded(self) -> Any:
        """Return the first argument of the command's function."""
        return self.given()


@dataclass(frozen=True, kw_only=True)
class JobFlags(Flags):
    """Which experiment of which configuration."""

    experiment: parameters.Experiment

    def loaded(self) -> Job:
        """Return the job."""
        given = self.given()
        given.experiment(self.experiment)
        return Job(given.config, self.experiment)


@dataclass(frozen=True, kw_only=True)
class RunFlags(JobFlags):
    """Which run of which experiment."""

    run: parameters.Run

    def loaded(self) -> Job:
        """Return the job."""
        return self.given().job(self.experiment, self.run)


FLAGS: dict[Any, type[Flags]] = {Given: Flags, Job: JobFlags, RunJob: RunFlags}
