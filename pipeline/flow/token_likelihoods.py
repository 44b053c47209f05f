"""The likelihood of a token under every x1 that it may be on the way to."""

from functools import singledispatch

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.paths.mixture import MixturePath

_LARGEST_TABLE = 2**26  # numbers, half a gigabyte


@singledispatch
def log_likelihood(path: Path, z: Tensor, t: Tensor) -> Tensor:
    """Return log p_t(z | x1) for every x1 at one time t, [..., K]; -inf for x1 that are never data.

    Here by all rows of the path, which are K^2 numbers. Mixtures need none of them.

    >>> path, time = build_path("uniform", Vocabulary.single(2), scheduler="linear"), torch.tensor(0.5).double()
    >>> log_likelihood(path, torch.tensor([0]), time).exp()
    tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    size = path.vocabulary.size
    if size**2 > _LARGEST_TABLE:
        raise FlowError(f"path: {type(path).__name__} has no likelihoods for as many as {size} tokens")
    x1 = (path.vocabulary.kind_of.on(z.device) >= 0).nonzero().squeeze(-1)
    table = torch.full((size, size), -torch.inf, dtype=torch.float64, device=z.device)  # [z, x1]
    table[:, x1] = path.log_prob(x1, t.expand(x1.shape)).T
    return table[z]


@log_likelihood.register
def _(path: MixturePath, z: Tensor, t: Tensor) -> Tensor:
    kind_of = path.vocabulary.kind_of.on(z.device)
    x1 = torch.arange(path.vocabulary.size, device=z.device)
    clock = path.clock(x1, t.expand(x1.shape))
    found = path.source(kind_of.clamp(min=0))[x1, z[..., None]] - clock
    own = torch.logaddexp(found, torch.log(-torch.expm1(-clock)))
    found = torch.where(x1 == z[..., None], own, found)
    return found.masked_fill(kind_of < 0, -torch.inf)
