"""The language model that was chosen to judge the texts of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from pipeline.config import NestedChoice
from pipeline.config.contracts import JudgePlugin
from pipeline.config.plugins import JUDGES, Chosen

if TYPE_CHECKING:  # only for types; functions import what they compute with
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
        """Return the chosen judge; raise a ValueError for a wrong name or option."""
        return cls(**vars(JUDGES.chosen(choice)))

    @property
    def label(self) -> str:
        """What the tables call it."""
        return self.plugin.label(self.options)

    @property
    def run(self) -> str | None:
        """The run of the experiment whose network judges, if it is one."""
        return self.plugin.run_of(self.options)

    def load(self, *, cache: Path, weights: Path | None, data: TokenData | None, device: torch.device) -> Judge:
        """Return the judge, ready to use; if it is missing, raise an error that says how to get one."""
        judge: Judge = self.plugin.load(self.options, cache=cache, weights=weights, data=data, device=device)
        return judge
