"""The language model that was chosen to judge the texts of an experiment, and what is said if it is missing."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pipeline.config import NestedChoice
from pipeline.config.contracts import JudgePlugin
from pipeline.config.plugins import JUDGES, Chosen
from pipeline.errors import KinoflowError

if TYPE_CHECKING:  # only for types; functions import what they compute with
    import torch
    from torch import Tensor

    from pipeline.text.judges.likelihood import Judge
    from pipeline.tokens.token_data import TokenData

_WAYS = """set scoring.generative_perplexity.judge to one of
  {name: transformers, model: /path/to/model}   a causal language model in a local directory (safetensors)
  {name: smollm2}                               a small one that comes from a package registry
  {name: run, run: ar}                          an autoregressive run of the experiment, here called `ar`"""


class JudgeError(KinoflowError):
    """A judge that is not available: which one, why, and what to choose instead."""

    def __init__(self, judge: str, reason: str) -> None:
        super().__init__(f"scoring.generative_perplexity.judge = {judge}: {reason}; {_WAYS}")


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


# What a metric with an option `judge` says of it, see `JudgedMetricPlugin`.


def files_of(options: Any) -> list[str]:
    """Return the catalogue names of the files that the judge is read from."""
    return ChosenJudge.of(options.judge).files


def inputs_of(options: Any) -> list[Path]:
    """Return the user's files that the judge is read from."""
    return ChosenJudge.of(options.judge).inputs


def hub_names_of(options: Any) -> list[str]:
    """Return the judge's name on the model hub, if it is read from there."""
    return ChosenJudge.of(options.judge).hub_names


def modules_of(options: Any) -> list[str]:
    """Return the module of the judge, which is loaded by name."""
    return ChosenJudge.of(options.judge).modules


def run_of_judge(options: Any) -> str | None:
    """Return the run of the experiment whose network judges, if it is one."""
    return ChosenJudge.of(options.judge).run


def last_states(network: Any, x: Tensor, last: Tensor) -> Tensor:
    """Return the features [B, F], before the logits, of the tokens at the places `last` [B] of sequences x [B, D]."""
    states: Tensor = network.base_model(x, use_cache=False).last_hidden_state
    return states[range(len(x)), last]


@contextmanager
def silence(bars: bool = False) -> Iterator[None]:
    """Keep the transformers and hub libraries from printing anything but errors; `bars` lets them show downloads."""
    from transformers.utils import logging as reports

    hub = logging.getLogger("huggingface_hub")
    verbosity, shown, level = reports.get_verbosity(), reports.is_progress_bar_enabled(), hub.level
    reports.set_verbosity_error()
    hub.setLevel(logging.ERROR)
    if not bars:
        reports.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        reports.set_verbosity(verbosity)
        hub.setLevel(level)
        if shown:
            reports.enable_progress_bar()
