"""The Fréchet distance between two sets of features, as if both were Gaussian (M. Heusel et al., 2017).

Letters in shapes: N images, F features. All is computed in float64.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate

import torch
from torch import Tensor

from pipeline.errors import KinoflowError

_AT_ONCE = 4096  # features that are added at once


@dataclass(frozen=True)
class Statistics:
    """How many features there are, their mean [F], and their scatter [F, F]: the sum of (x - mean)(x - mean)^T."""

    n: int
    mean: Tensor
    scatter: Tensor

    @classmethod
    def of(cls, features: Tensor) -> Statistics:
        """Return the statistics of features [N, F]."""
        values = features.double()
        mean = values.mean(dim=0)
        deviations = values - mean
        return cls(len(values), mean, deviations.T @ deviations)

    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets together (T. Chan et al., 1983); no large numbers cancel in it."""
        n, apart = self.n + other.n, other.mean - self.mean
        scatter = self.scatter + other.scatter + torch.outer(apart, apart) * (self.n * other.n / n)
        return Statistics(n, self.mean + apart * (other.n / n), scatter)

    @property
    def covariance(self) -> Tensor:
        """The unbiased covariance [F, F]."""
        if self.n < 2:
            raise KinoflowError(f"n = {self.n}: a covariance needs two images or more; draw more samples")
        return self.scatter / (self.n - 1)

    @cached_property
    def root(self) -> Tensor:
        """A matrix R [F, r] with R R^T the covariance, of as many columns as the covariance has directions.

        Directions whose variance is that of rounding are left out: there are some if there are fewer images than
        features.
        """
        variances, directions = torch.linalg.eigh(self.covariance)
        smallest = variances[-1] * len(variances) * torch.finfo(variances.dtype).eps
        kept = variances > smallest.clamp(min=0)
        return directions[:, kept] * variances[kept].sqrt()


def statistics_of(batches: Iterable[Tensor]) -> Statistics:
    """Return the statistics of features that come in batches [B, F], of which there must be one."""
    return deque(accumulated(batches), maxlen=1).pop()


def accumulated(batches: Iterable[Tensor], before: Statistics | None = None) -> Iterator[Statistics]:
    """Yield the statistics of all features so far, each time that some were added; first those `before`, if any.

    They are of all batches that were taken: going on from any of them gives the same as never having stopped.
    """
    return accumulate(map(Statistics.of, _larger(batches)), Statistics.merged, initial=before)


def _larger(batches: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield the batches put together to larger ones: a merger costs as much as several thousand rows."""
    waiting: list[Tensor] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield torch.cat(waiting)
            waiting = []
    if waiting:
        yield torch.cat(waiting)


def frechet_distance(first: Statistics, second: Statistics) -> float:
    """Return |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), of means m and covariances S.

    The trace of the square root is the sum of the singular values of R1^T R2 for any R with S = R R^T: no product of
    covariances has to be rooted, and they may be singular. The distance of finite sets is too large, by about 1 / n;
    one with fewer images than features is mostly that. Only distances of the same n compare.
    """
    if first.mean.shape != second.mean.shape:
        sizes = f"{len(first.mean)} and {len(second.mean)} features"
        raise KinoflowError(f"{sizes} cannot be compared; take both from the same network")
    apart = (first.mean - second.mean).square().sum()
    spread = first.covariance.trace() + second.covariance.trace()
    common = torch.linalg.svdvals(first.root.T @ second.root).sum()
    return max(0.0, float(apart + spread - 2 * common))


def frechet_error(parts: Sequence[Statistics], reference: Statistics) -> float:
    """Return the standard error of the distance of all parts together from the reference, by a jackknife of parts.

    The parts are random and of the same size, or nearly: each is left out in turn. It says how much the distance of
    other samples of the same run would differ, and nothing of its excess at small n, which all of them share. It is too
    large, by up to a factor of two, where both sets are of one distribution.
    """
    left = [
        frechet_distance(reduce(Statistics.merged, [*parts[:number], *parts[number + 1 :]]), reference)
        for number in range(len(parts))
    ]
    mean = sum(left) / len(left)
    return math.sqrt((len(left) - 1) / len(left) * sum((value - mean) ** 2 for value in left))
