"""Features of the time t in [0, 1], by which a network can tell times apart at every scale."""

import math

import torch
from torch import Tensor


def time_features(t: Tensor, count: int) -> Tensor:
    """Return `count` cosines and sines of t at frequencies from 1 to 1000 radians, geometrically spaced, [B, count]."""
    half = count // 2
    frequencies = torch.exp(torch.linspace(0, math.log(1000), half, dtype=torch.float32, device=t.device))
    angles = t.float()[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=-1)
