"""Bad arguments give a FlowError that names them, and never NaN samples."""

import re
from collections.abc import Callable

import pytest
import torch

from pipeline.flow import sources
from pipeline.flow.beta import Beta
from pipeline.flow.clamp import Clamp
from pipeline.flow.correctors import Corrector
from pipeline.flow.distances import EmbeddingDistance, FunctionDistance, TableDistance
from pipeline.flow.errors import FlowError
from pipeline.flow.guidance import guided
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.losses import LOSSES, stratified_times
from pipeline.flow.paths import build_path, example_path
from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.paths.geodesic import GeodesicPath
from pipeline.flow.paths.kindwise import KindwisePath
from pipeline.flow.paths.metric import MetricPath
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.sampler import sample
from pipeline.flow.schedulers import KineticOptimal
from pipeline.flow.velocities import VELOCITIES
from pipeline.flow.vocabulary import Vocabulary

FIVE = Vocabulary.single(5, specials=1)
BETA = Beta(5.0, 1.0)
MASK = build_path("mask", FIVE)
X1 = torch.zeros(2, 3, dtype=torch.int64)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def logits_of(value: float) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    return lambda x, t: torch.full((*x.shape, FIVE.size), value)


def draw(**options: object) -> object:
    return sample(**{"model": logits_of(0.0), "path": MASK, "shape": (2, 3), "generator": generator(), **options})


def table(**cells: float) -> torch.Tensor:
    distances = 1 - torch.eye(6)
    for cell, value in cells.items():
        distances[int(cell[1]), int(cell[2])] = value
    return distances


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "time above 1": (lambda: MASK.sample(X1, torch.tensor([0.5, 1.5]), generator()), r"t: .*\[0, 1\].* 1\.5"),
    "negative time": (lambda: MASK.sample(X1, torch.tensor([-0.1, 0.5]), generator()), r"t: .*-0\.1"),
    "time NaN": (lambda: MASK.sample(X1, torch.tensor([torch.nan, 0.5]), generator()), r"t: .*nan"),
    "whole times": (lambda: MASK.sample(X1, torch.tensor([0, 1]), generator()), r"t: .*floating point"),
    "times of another batch": (lambda: MASK.sample(X1, torch.rand(3), generator()), r"t: shape \(3,\)"),
    "rate at the end": (
        lambda: LOSSES.get("mixture_elbo")(MASK, torch.zeros(2, 3, 6), X1, X1, torch.ones(2)),
        r"t: .*\[0, 1\)",
    ),
    "token beyond the vocabulary": (lambda: MASK.sample(X1 + 6, torch.rand(2), generator()), r"x1: .*0\.\.5, got 6"),
    "negative token": (lambda: MASK.sample(X1 - 1, torch.rand(2), generator()), r"x1: .*got -1"),
    "token that is never data": (lambda: MASK.sample(X1 + 5, torch.rand(2), generator()), r"x1: token 5 is never data"),
    "tokens that are not whole": (lambda: MASK.sample(X1.float(), torch.rand(2), generator()), r"x1: .*int64"),
    "negative distance": (
        lambda: MetricPath(FIVE, TableDistance(table(c12=-1.0)), BETA),
        r"distance: d\(2, 1\) = -1 is negative",
    ),
    "distance NaN": (
        lambda: MetricPath(FIVE, TableDistance(table(c12=torch.nan)), BETA),
        r"distance: d\(2, 1\) = nan",
    ),
    "distance zero elsewhere": (
        lambda: MetricPath(FIVE, TableDistance(table(c30=0.0)), BETA),
        r"distance: 1 tokens .* from another: \(3, 0\)",
    ),
    "duplicate codes": (
        lambda: MetricPath(FIVE, EmbeddingDistance(torch.tensor([0, 1, 2, 2, 3, 9.0]), 2.0), BETA),
        r"distance: .*dead or duplicate",
    ),
    "distance not zero at x1": (
        lambda: MetricPath(FIVE, FunctionDistance(lambda x, x1: (x - x1).abs() + 1, 6), BETA),
        r"distance: .*not zero from a token to itself",
    ),
    "distance of another size": (
        lambda: MetricPath(FIVE, TableDistance(1 - torch.eye(4)), BETA),
        r"distance: made for 4 tokens, but the vocabulary has 6",
    ),
    "power of a distance": (lambda: build_path("metric", FIVE, lp=0.0), r"lp: .*above 0"),
    "power of a table": (lambda: build_path("metric", FIVE, lp=[0.0], distances=table()), r"lp: .*above 0"),
    "powers of embeddings": (lambda: build_path("metric", FIVE, lp=[1.0]), r"lp: one number for all kinds .*\[1.0\]"),
    "number of kinds": (lambda: build_path("metric", FIVE, a=[5.0, 1.0]), r"a: one number for each of 1 kinds"),
    "beta": (lambda: Beta(-1.0, 1.0), r"a: .*above 0"),
    "source that does not sum to 1": (
        lambda: MixturePath(FIVE, torch.full((1, 6), 0.1), "linear"),
        r"source: probabilities must sum to 1, got 0\.6",
    ),
    "negative source": (
        lambda: MixturePath(FIVE, torch.tensor([[1.5, -0.5, 0, 0, 0, 0]]), "linear"),
        r"source: probabilities must be at least 0",
    ),
    "source of another size": (lambda: MixturePath(FIVE, torch.full((1, 4), 0.25), "linear"), r"source: .*\(1, 6\)"),
    "mask without a mask token": (lambda: build_path("mask", Vocabulary.single(5)), r"vocabulary: .*specials=1"),
    "counts of another size": (lambda: sources.token_statistics(FIVE, torch.ones(3), 0.5), r"counts: "),
    "no smoothing": (lambda: sources.token_statistics(FIVE, torch.ones(6), 0.5, 0.0), r"smoothing: "),
    "unknown path": (lambda: build_path("metrik", FIVE), r"unknown path 'metrik'; did you mean 'metric'\?"),
    "unknown option": (lambda: build_path("metric", FIVE, lpp=3), r"'metric' takes no option 'lpp'; did you mean 'lp'"),
    "unknown scheduler": (
        lambda: build_path("mask", FIVE, scheduler="cubik"),
        r"scheduler 'cubik'; did you mean 'cubic'",
    ),
    "unknown velocity": (lambda: draw(velocity="campell"), r"velocity 'campell'; did you mean 'campbell'"),
    "unknown step": (lambda: draw(step="eler"), r"step 'eler'; did you mean 'euler'"),
    "negative power": (
        lambda: draw(path=build_path("uniform", FIVE), velocity=VELOCITIES.bind("power", alpha=-1.0)),
        r"alpha: ",
    ),
    "NaN logits": (lambda: draw(model=logits_of(torch.nan)), r"logits: 6 rows hold NaN"),
    "infinite logits": (lambda: draw(model=logits_of(torch.inf)), r"logits: .*\+inf"),
    "empty logits": (lambda: draw(model=logits_of(-torch.inf)), r"logits: no possible token"),
    "logits of another size": (lambda: draw(model=lambda x, t: torch.zeros(2, 3, 4)), r"logits: .* 6 entries, got 4"),
    "logits of another shape": (lambda: draw(model=lambda x, t: torch.zeros(2, 6)), r"logits: shape \(2, 6\)"),
    "no steps": (lambda: draw(steps=0), r"steps: .*at least 1, got 0"),
    "half a step": (lambda: draw(steps=[0.0, 0.5]), r"steps: .*rise from 0 to 1"),
    "grid that falls": (lambda: draw(steps=[0.0, 0.6, 0.5, 1.0]), r"steps: .*rise"),
    "temperature zero": (lambda: draw(temperature=0.0), r"temperature: .*above 0"),
    "top-k zero": (lambda: draw(top_k=0), r"top_k: .*at least 1"),
    "top-p zero": (lambda: draw(top_p=0.0), r"top_p: "),
    "no shape": (lambda: draw(shape=None), r"shape: "),
    "kinds not said": (lambda: draw(path=build_path("uniform", Vocabulary([0, 0, 1, 1]))), r"kinds: .*2 kinds"),
    "unknown kind": (lambda: draw(kinds=torch.ones(2, 3, dtype=torch.int64)), r"kinds: .*0\.\.0"),
    "clamp of another shape": (lambda: draw(clamp=Clamp(X1[:1], X1[:1] == 0)), r"clamp: .*\(2, 3\)"),
    "clamp to the mask": (lambda: draw(clamp=Clamp(X1 + 5, X1 == 0)), r"clamp\.tokens: .*another kind"),
    "guidance": (lambda: guided(logits_of(0.0), logits_of(0.0), -1.0), r"scale: "),
    "corrector weight": (lambda: Corrector(-1.0), r"corrector\.weight: "),
    "corrector limit": (lambda: Corrector(1.0, limit=0.0), r"corrector\.limit: "),
    "points": (lambda: evaluate_bound(logits_of(0.0), MASK, X1, generator=generator(), points=1), r"points: "),
    "end of the grid": (lambda: evaluate_bound(logits_of(0.0), MASK, X1, generator=generator(), end=1.0), r"end: "),
    "no times": (lambda: stratified_times(0, generator()), r"count: "),
    "end of training times": (lambda: stratified_times(4, generator(), end=1.5), r"end: "),
    "mixture bound of a metric path": (
        lambda: LOSSES.get("mixture_elbo")(build_path("metric", FIVE), torch.zeros(2, 3, 6), X1, X1, torch.rand(2)),
        r"mixture_elbo: MetricPath is not a mixture",
    ),
    "masked bound of a uniform path": (
        lambda: LOSSES.get("masked_elbo")(build_path("uniform", FIVE), torch.zeros(2, 3, 6), X1, X1, torch.rand(2)),
        r"masked_elbo: .*mixture_elbo",
    ),
    "score of a token-dependent scheduler": (
        lambda: LOSSES.get("score_entropy")(
            example_path("statistics", FIVE), torch.zeros(2, 3, 6), X1, X1, torch.rand(2)
        ),
        r"concrete score needs",
    ),
    "kinds with gaps": (lambda: Vocabulary([0, 2]), r"kind_of: "),
    "empty vocabulary": (lambda: Vocabulary.single(0), r"tokens: .*at least 1"),
    "angle": (lambda: KineticOptimal(2.0), r"omega: "),
    "token-dependent inverse": (lambda: KineticOptimal(torch.tensor([0.1, 0.2])).time(torch.rand(2)), r"pi / 4"),
    "log_prob of a wrong shape": (
        lambda: FunctionPath(FIVE, lambda x1, t: torch.zeros(4)).sample(X1, torch.rand(2), generator()),
        r"FunctionPath: log_prob returned shape \(4,\)",
    ),
    "log_prob NaN": (
        lambda: FunctionPath(FIVE, lambda x1, t: t[..., None] * torch.full((6,), torch.nan)).state(
            X1[0], torch.rand(3)
        ),
        r"FunctionPath: probabilities sum to nan at t = ",
    ),
    "log_prob that is not normalised": (
        lambda: FunctionPath(FIVE, lambda x1, t: torch.zeros(*x1.shape, 6)).sample(X1, torch.rand(2), generator()),
        r"FunctionPath: probabilities sum to 6 at t = .*log_softmax",
    ),
    "derivative NaN": (
        lambda: FunctionPath(
            FIVE, lambda x1, t: torch.log_softmax((t - t).sqrt()[..., None] * torch.ones(6), dim=-1)
        ).state(X1[0], torch.rand(3).double()),
        r"FunctionPath: the derivative of log_prob is NaN at t = ",
    ),
    "nearly equal codes": (
        lambda: build_path(
            "metric", FIVE, lp=4.0, embeddings=torch.tensor([0, 1, 2, 3, 3 + 1e-8, 9], dtype=torch.float64)
        ),
        r"distance: 2 tokens .*\(3, 4\), \(4, 3\)",
    ),
    "statistics without counts": (lambda: build_path("statistics", FIVE), r"statistics: .*counts"),
    "mask that is data": (lambda: Vocabulary([0, 0, -1], mask=1), r"mask: token 1 "),
    "geodesic source of another shape": (
        lambda: build_path("geodesic", FIVE, source=torch.ones(6) / 6),
        r"source: shape \(1, 6\)",
    ),
    "path that does not end at x1": (
        lambda: draw(path=GeodesicPath(FIVE, sources.uniform(FIVE), torch.full((6, 6), 1 / 6))),
        r"path: GeodesicPath does not end at x1",
    ),
    "score entropy at the beginning": (
        lambda: LOSSES.get("score_entropy")(MASK, torch.zeros(2, 3, 6), X1, X1, torch.zeros(2)),
        r"t: at t = 0",
    ),
    "infinite rate": (
        lambda: LOSSES.get("general_elbo")(
            build_path("metric", FIVE, a=0.9), torch.zeros(2, 3, 6), X1, X1, torch.zeros(2)
        ),
        r"t: the rates of MetricPath are infinite at t = 0",
    ),
    "cross-entropy of a negative token": (
        lambda: LOSSES.get("cross_entropy")(MASK, torch.zeros(2, 3, 6), X1 - 1, X1, torch.rand(2)),
        r"x1: .*got -1",
    ),
    "paths of fewer kinds": (lambda: KindwisePath(FIVE, []), r"paths: one for each of 1 kinds"),
    "path without a name": (
        lambda: build_path("kindwise", FIVE, paths=[{"lp": 3}]),
        r"paths: every entry needs a name",
    ),
    "laplacian too large": (
        lambda: draw(
            path=build_path("uniform", Vocabulary.single(1025)),
            velocity="laplacian",
            model=lambda x, t: torch.zeros(2, 3, 1025),
        ),
        r"laplacian: 1025 tokens .*closed form",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_is_a_clear_error(name: str) -> None:
    call, message = CASES[name]
    with pytest.raises(FlowError) as caught:
        call()
    assert re.search(message, str(caught.value)), str(caught.value)
