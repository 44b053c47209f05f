"""Tokens that are given: the sampler keeps them and fills in the rest."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.checks import check_tokens
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path


@dataclass(frozen=True)
class Clamp:
    """Positions whose data are given: `tokens` [B, D] stay where `fixed` bool[B, D] is true, and the rest is filled in.

    By default the model sees the given tokens as they are. This suits mask paths. On other paths the model was trained
    with the same noise on all tokens. There, set `noised`: in every step it sees a new draw from p_t(. | token).

    >>> Clamp(tokens=torch.tensor([[7, 0, 0]]), fixed=torch.tensor([[True, False, False]])).noised
    False
    """

    tokens: Tensor
    fixed: Tensor
    noised: bool = False


class Given:
    """The tokens of a clamp, and where they are. It is made before a loop that must not wait for the device."""

    def __init__(self, clamp: Clamp, path: Path, kinds: Tensor, generator: torch.Generator) -> None:
        """Take the clamp, after a check that it fits positions of `kinds` [B, D]."""
        if clamp.tokens.shape != kinds.shape or clamp.fixed.shape != kinds.shape or clamp.fixed.dtype != torch.bool:
            raise FlowError(f"clamp: tokens and a boolean mask of shape {tuple(kinds.shape)} expected")
        self._clamp, self._path, self._generator = clamp, path, generator
        self._places = clamp.fixed.flatten().nonzero().squeeze(-1)
        self._tokens, fixed_kinds = clamp.tokens.flatten()[self._places], kinds.flatten()[self._places]
        check_tokens(self._tokens, path.vocabulary.size, "clamp.tokens")
        if not torch.equal(path.vocabulary.kind_of.on(kinds.device)[self._tokens], fixed_kinds):
            raise FlowError("clamp.tokens: a fixed token is of another kind than its position")
        self._of_kinds = path.vocabulary.places(fixed_kinds)

    def put(self, x: Tensor, t: float) -> Tensor:
        """Return x [B, D] with the given data in their places, as the model sees them at time t."""
        if not self._clamp.noised or t == 1:
            return torch.where(self._clamp.fixed, self._clamp.tokens, x)
        times = torch.full(self._tokens.shape, t, dtype=torch.float64, device=x.device)
        drawn = self._path.sample(self._tokens, times, self._generator, self._of_kinds)
        return x.flatten().index_copy(0, self._places, drawn).view_as(x)
