"""The language model that judges the texts of an experiment: which one was chosen, and whether it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import Choice, Config
from pipeline.config.chosen import chosen
from pipeline.config.plugins import JUDGES, METRICS
from pipeline.errors import KinoflowError
from pipeline.store.atomic import write_json
from pipeline.store.provenance import file_hash, write_provenance
from pipeline.text.judges.missing import JudgeError

if TYPE_CHECKING:  # names of types; what is computed with is imported where it is used
    import torch

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

METRIC = "generative_perplexity"


class JudgeChoice(Choice):
    """A judge: a file in `pipeline/text/judges`."""


@dataclass(frozen=True)
class ChosenJudge:
    """A module of :mod:`pipeline.text.judges` with its options."""

    name: str
    module: Any
    options: Any

    @classmethod
    def of(cls, choice: JudgeChoice) -> ChosenJudge:
        """Return the judge that was chosen; a wrong name or option is a ValueError that says so."""
        return cls(choice.name, *chosen(JUDGES, choice))

    @property
    def label(self) -> str:
        """What the tables call it."""
        label: str = self.module.label(self.options)
        return label

    @property
    def files(self) -> list[str]:
        """The names in the catalogue of the files that it is read from."""
        return list(self.module.files(self.options))

    @property
    def inputs(self) -> list[Path]:
        """The files of the user that it is read from."""
        return list(self.module.inputs(self.options)) if hasattr(self.module, "inputs") else []

    @property
    def hub_name(self) -> str | None:
        """The name on the model hub that it is read by, if it is."""
        name: str | None = self.module.hub_name(self.options) if hasattr(self.module, "hub_name") else None
        return name

    @property
    def run(self) -> str | None:
        """The run of the experiment whose network it is, if it is one."""
        run: str | None = getattr(self.options, "run", None)
        return run

    def load(self, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
        """Return the judge at work; an error with the ways to have one if it is not there."""
        judge: Judge = self.module.load(self.options, cache=cache, weights=weights, data=data, device=device)
        return judge


def prepare_judge(config: Config, experiment: str, output: Path) -> None:
    """Make sure that the judge of an experiment can be loaded, and write which it is and what it is made of.

    It is downloaded if need be. One that is a run of the experiment is yet to be trained.
    """
    import torch

    chosen = config.experiments[experiment]
    if METRIC not in chosen.scoring:
        raise KinoflowError(f"experiments.{experiment}.scoring: has no {METRIC}, so nothing is judged; add it")
    judge = ChosenJudge.of(METRICS.options(METRIC, chosen.scoring[METRIC]).judge)
    record: dict[str, Any] = {"judge": judge.label, "revision": None, "files": {}}
    files: tuple[Path, ...] = ()
    if judge.run is None:
        cache, device = Path(config.data.cache), torch.device("cpu")
        loaded = judge.load(cache=cache, weights=None, data=None, device=device)
        nats, tokens = loaded.negative_log_likelihood(["The cat sat on the mat, and the dog on the floor."])
        if not tokens.all() or not nats[0] < float("inf"):
            raise JudgeError(judge.label, f"gives {nats[0]} nats to {tokens[0]} tokens of a sentence; it cannot judge")
        files = loaded.files
        record |= {"revision": loaded.revision, "files": {file.name: file_hash(file) for file in files}}
    write_json(output, record)
    write_provenance([output], {"scoring": chosen.scoring}, config.seed, files)
