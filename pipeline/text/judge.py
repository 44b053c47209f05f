"""The language model that judges the texts of an experiment: which one was chosen, and whether it can be had."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import Choice
from pipeline.config.chosen import chosen
from pipeline.config.plugins import JUDGES

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
