"""The language model that judges the texts of an experiment: which one was chosen, and whether it can be had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from pipeline.config import NestedChoice
from pipeline.config.contracts import JudgePlugin
from pipeline.config.plugins import JUDGES, Chosen

if TYPE_CHECKING:  # names of types; what is computed with is imported where it is used
    import torch

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

METRIC = "generative_perplexity"


class JudgeChoice(NestedChoice):
    """A judge: a file in `pipeline/text/judges`."""

    SOURCE = "pipeline.config.plugins.JUDGES"


class ChosenJudge(Chosen[JudgePlugin]):
    """A judge with its options."""

    @classmethod
    def of(cls, choice: JudgeChoice) -> Self:
        """Return the judge that was chosen; a wrong name or option is a ValueError."""
        return cls(**vars(JUDGES.chosen(choice)))

    @property
    def label(self) -> str:
        """What the tables call it."""
        return self.plugin.label(self.options)

    @property
    def run(self) -> str | None:
        """The run of the experiment whose network it is, if it is one."""
        return self.plugin.run_of(self.options)

    def load(self, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
        """Return the judge at work; an error with the ways to have one if it is not there."""
        judge: Judge = self.plugin.load(self.options, cache=cache, weights=weights, data=data, device=device)
        return judge
