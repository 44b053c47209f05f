"""Precision and recall (T. Kynkäänniemi et al., 2019), density and coverage (M. Naeem et al., 2020) of features.

Each image has a ball around it that reaches to its k-th nearest neighbour in its own set. Letters in shapes: N real
images, M generated ones, F features. Distances are squared throughout, in float64.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from pipeline.errors import KinoflowError

_AT_ONCE = 2**24  # distances in memory
_ROUNDING = 1e-12  # of squared lengths: it must not decide ties, which are common for images with few levels


def neighbour_scores(real: Tensor, generated: Tensor, neighbours: int) -> dict[str, float]:
    """Return precision, recall, density and coverage of generated features [M, F], given real ones [N, F].

    Precision is the share of generated images in the ball of any real one. Recall is the share of real images in the
    ball of any generated one. Density is the mean number of real balls around a generated image, divided by k; it may
    exceed one. Coverage is the share of real images with a generated one in their ball. All depend on N and M.
    """
    for name, features in (("reference", real), ("generated", generated)):
        if len(features) <= neighbours:
            raise KinoflowError(
                f"scoring.frechet_distance.neighbours = {neighbours}: there are only {len(features)} {name} images; "
                "draw more samples or lower it"
            )
    centre = real.double().mean(dim=0)
    real, generated = real.double() - centre, generated.double() - centre  # short vectors round less
    slack = _ROUNDING * float(torch.cat([real, generated]).square().sum(dim=1).max())
    real_radii, generated_radii = (radii(features, neighbours) + slack for features in (real, generated))
    balls = torch.zeros(len(generated))
    recalled, covered = (torch.zeros(len(real), dtype=torch.bool) for _ in range(2))
    for rows, distances in _distances(generated, real):
        in_real = distances <= real_radii
        balls[rows] = in_real.sum(dim=1).float()
        covered |= in_real.any(dim=0)
        recalled |= (distances <= generated_radii[rows, None]).any(dim=0)
    return {
        "precision": float((balls > 0).double().mean()),
        "recall": float(recalled.double().mean()),
        "density": float(balls.double().mean()) / neighbours,
        "coverage": float(covered.double().mean()),
    }


def radii(features: Tensor, neighbours: int) -> Tensor:
    """Return the squared distance of each row of features [N, F] to its k-th nearest other row, [N]."""
    found = torch.empty(len(features), dtype=features.dtype)
    for rows, distances in _distances(features, features):
        numbers = torch.arange(rows.start, rows.stop)
        distances[torch.arange(len(distances)), numbers] = torch.inf  # no row is its own neighbour; an equal one is
        found[rows] = distances.kthvalue(neighbours, dim=1).values
    return found


def _distances(first: Tensor, second: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield some rows of `first` at a time, and their squared distances to all rows of `second`."""
    size, lengths = max(1, _AT_ONCE // len(second)), second.square().sum(dim=1)
    for start in range(0, len(first), size):
        rows = slice(start, min(start + size, len(first)))
        part = first[rows]
        distances = torch.addmm(part.square().sum(dim=1, keepdim=True) + lengths, part, second.T, alpha=-2)
        yield rows, distances.clamp_(min=0)
