"""MAUVE: how much the samples and training texts overlap, among the features that a language model gives them.

K. Pillutla et al., "MAUVE: Measuring the Gap Between Neural Text and Human Text using Divergence Frontiers" (2021).
Both sets of texts become histograms q and p over clusters of their features. For each mixture r of the two,
exp(-c KL(p | r)) says how little the mixture misses of p, and exp(-c KL(q | r)) how little of q. MAUVE is the area
below these points: 1 for equal histograms, near 0 for those without a common cluster. It sees what a judge's perplexity
does not: text that is likely, but all of one kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pipeline.config import Fetching, NameAlone, Strict
from pipeline.store.seeds import derive_seed
from pipeline.text.judge import ChosenJudge, JudgeChoice, files_of, hub_names_of, inputs_of, modules_of, run_of_judge

if TYPE_CHECKING:  # only for types; functions import what they compute with
    from pipeline.scoring.subject import Subject

SCALE = 5.0  # c, the authors' choice
MIXTURES = 25
VARIANCE = 0.9  # share of the variance of the features that the clusters see
TEXTS_IN_A_CLUSTER = 10  # on average, of each set
STARTS = 5  # of the clustering
Vector = NDArray[np.float64]


files, inputs, hub_names, modules, run_of = files_of, inputs_of, hub_names_of, modules_of, run_of_judge


class Options(Strict):
    """Whose features, and of how many texts."""

    judge: Annotated[JudgeChoice, NameAlone] = Field(
        JudgeChoice(name="transformers"), description="language model that gives the features; no run of the experiment"
    )
    samples: int = Field(5000, ge=20, description="texts of each set that are compared; as many as there are, at most")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return MAUVE of the samples against as many training texts; compare it only with that of equally many texts."""
    import torch

    from pipeline.text.tokenizer import tokenizer_of

    seed = derive_seed(subject.seed, "mauve") % 2**32
    samples, train = subject.samples.tokens[: options.samples], subject.data.train
    count = min(len(samples), len(train))
    # The same training texts for every run of the experiment: their draw is no part of the differences.
    chosen = torch.randperm(len(train), generator=torch.Generator().manual_seed(derive_seed(0, "mauve")))[:count]
    judge = ChosenJudge.of(options.judge).load(
        cache=subject.cache or Path(Fetching().cache),
        weights=subject.files.get("judge_weights"),
        data=subject.data,
        device=subject.device,
    )
    decode = tokenizer_of(subject.data).decode
    texts, drawn = (judge.features(decode(tokens.long())) for tokens in (train[chosen], samples[:count]))
    return {"mauve": area(*histograms(texts, drawn, seed))}


def histograms(texts: Vector, samples: Vector, seed: int) -> tuple[Vector, Vector]:
    """Return the shares of both sets of features [N, F] in clusters of their directions, where most variance is."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    features = np.concatenate([texts, samples])
    features = features / np.linalg.norm(features, axis=1, keepdims=True).clip(min=1e-12)
    features = PCA(n_components=VARIANCE, svd_solver="full", random_state=seed).fit_transform(features)
    clusters = max(2, round(min(len(texts), len(samples)) / TEXTS_IN_A_CLUSTER))
    cluster_of = KMeans(clusters, n_init=STARTS, random_state=seed).fit_predict(features)
    counts = [np.bincount(part, minlength=clusters) for part in np.split(cluster_of, [len(texts)])]
    return counts[0] / len(texts), counts[1] / len(samples)


def area(p: Vector, q: Vector) -> float:
    """Return the area below the curve of two histograms [K].

    >>> round(area(np.array([0.5, 0.5]), np.array([0.5, 0.5])), 6)
    1.0
    """
    weights = np.linspace(1e-6, 1 - 1e-6, MIXTURES)[:, None]
    mixtures = weights * p + (1 - weights) * q
    x, y = (np.exp(-SCALE * _divergences(one, mixtures)) for one in (q, p))
    # From the mixture that is q, at x = 1, to the one that is p, at y = 1; beyond them the curve meets the axes.
    x, y = np.concatenate([[1.0], x, [0.0]]), np.concatenate([[0.0], y, [1.0]])
    return float(np.abs(np.trapezoid(y, x)))


def _divergences(p: Vector, mixtures: Vector) -> Vector:
    """Return KL(p | r) for each row r of the mixtures; where p has mass, so have they."""
    there = p > 0
    divergences: Vector = (p[there] * np.log(p[there] / mixtures[:, there])).sum(axis=1)
    return divergences


def conditions(subject: Subject, options: Options) -> dict[str, str]:
    """Return whose features they are."""
    return {"features of mauve": ChosenJudge.of(options.judge).label}
