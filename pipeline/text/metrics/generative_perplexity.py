"""How surprised a language model is by samples of text: generative perplexity, and how varied the samples are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pipeline.config import Fetching, NameAlone, Strict
from pipeline.store.seeds import derive_seed
from pipeline.text.judge import ChosenJudge, JudgeChoice, files_of, hub_names_of, inputs_of, modules_of, run_of_judge

if TYPE_CHECKING:  # only for types; functions import what they compute with
    from torch import Tensor

    from pipeline.scoring.subject import Subject

HEADLINE = "generative_perplexity"
RESAMPLES = 1000  # of the bootstrap
GRAMS = (1, 2, 3)  # tokens in the sequences whose variety is counted


files, inputs, hub_names, modules, run_of = files_of, inputs_of, hub_names_of, modules_of, run_of_judge


class Options(Strict):
    """Who judges, and how much."""

    judge: Annotated[JudgeChoice, NameAlone] = Field(
        JudgeChoice(name="transformers"), description="language model that judges, and its options"
    )
    samples: int = Field(512, ge=1, description="samples that are judged, from the first on; all if there are fewer")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return the perplexity, exp(nats / tokens) over all tokens of the judge, its interval, and the samples' variety.

    The tokens are the judge's own, so numbers of different judges cannot be compared. Repetition and a low temperature
    game the judge: a perplexity below that of the data (its reference row) is no merit if the entropy is lower, too.
    Entropy and distinct n-grams are of the run's own tokens, and fall when samples repeat themselves or each other.
    """
    from pipeline.text.tokenizer import tokenizer_of

    tokens = subject.samples.tokens[: options.samples]
    texts = tokenizer_of(subject.data).decode(tokens)
    judge = ChosenJudge.of(options.judge).load(
        cache=subject.cache or Path(Fetching().cache),
        weights=subject.files.get("judge_weights"),
        data=subject.data,
        device=subject.device,
    )
    scores = perplexity(*judge.negative_log_likelihood(texts), subject.seed)
    variety = {f"distinct_{size}": distinct(tokens, size) for size in GRAMS if size <= tokens.shape[1]}
    return scores | {"token_entropy": token_entropy(tokens)} | variety


def perplexity(nats: NDArray[np.float64], tokens: NDArray[np.int64], seed: int) -> dict[str, float]:
    """Return exp(sum of nats [N] / sum of tokens [N]) and its 95 % interval, by a bootstrap; nothing without tokens."""
    import torch

    judged = tokens > 0
    nats, tokens = nats[judged], tokens[judged]
    if not len(tokens):
        return {}
    generator = torch.Generator().manual_seed(derive_seed(seed, "generative_perplexity"))
    drawn = torch.randint(len(tokens), (RESAMPLES, len(tokens)), generator=generator).numpy()
    low, high = np.quantile(nats[drawn].sum(axis=1) / tokens[drawn].sum(axis=1), (0.025, 0.975))
    bounds = {f"{HEADLINE}_low": math.exp(low), f"{HEADLINE}_high": math.exp(high)}
    return {HEADLINE: math.exp(nats.sum() / tokens.sum())} | bounds


def token_entropy(tokens: Tensor) -> float:
    """Return the mean over samples [N, D] of the entropy, in nats, of a sample's own histogram of tokens.

    H = log D - (1 / D) sum_k n_k log n_k, where token k occurs n_k times in a sample of D; at most log D.
    """
    count, length = tokens.shape
    rows = _numbers(tokens)
    sample_and_token = rows + np.arange(count)[:, None] * (rows.max() + 1)
    times = np.unique(sample_and_token, return_counts=True)[1].astype(np.float64)
    return float(np.log(length) - (times * np.log(times)).sum() / (count * length))


def distinct(tokens: Tensor, size: int) -> float:
    """Return the share of distinct ones among all sequences of `size` tokens within samples [N, D]; D >= `size`."""
    rows = _numbers(tokens)
    places = rows.shape[1] - size + 1
    grams = rows[:, :places]
    for offset in range(1, size):
        # Renumber for each token, so that no number grows beyond 64 bits.
        known = np.unique(grams, return_inverse=True)[1].reshape(grams.shape)
        grams = known * (rows.max() + 1) + rows[:, offset : offset + places]
    return len(np.unique(grams)) / grams.size


def _numbers(tokens: Tensor) -> NDArray[np.int64]:
    return tokens.cpu().numpy().astype(np.int64)


def conditions(subject: Subject, options: Options) -> dict[str, str]:
    """Return who judged."""
    return {"judge": ChosenJudge.of(options.judge).label}
