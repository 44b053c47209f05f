"""The error for a missing judge, with the ways to get one."""

from pipeline.errors import KinoflowError

_WAYS = """set scoring.generative_perplexity.judge to one of
  {name: transformers, model: /path/to/model}   a causal language model in a local directory (safetensors)
  {name: smollm2}                               a small one that comes from a package registry
  {name: run, run: ar}                          an autoregressive run of the experiment, here called `ar`"""


class JudgeError(KinoflowError):
    """A judge that is not available: which one, why, and what to choose instead."""

    def __init__(self, judge: str, reason: str) -> None:
        super().__init__(f"scoring.generative_perplexity.judge = {judge}: {reason}; {_WAYS}")
