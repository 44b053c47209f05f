"""Samples of an autoregressive network: one token after the other, each given those before it."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from pipeline.flow.categorical import draw, sharpen, uniform
from pipeline.flow.sampler import Clamp
from pipeline.flow.vocabulary import Vocabulary


class AutoregressiveNetwork(Protocol):
    """A network that can be asked for one token after the other."""

    def start(self, kinds: Tensor) -> object:
        """Return the state before the first token of sequences with positions of `kinds` [B, D]."""

    def next_logits(self, tokens: Tensor | None, state: object) -> Tensor:
        """Return the logits [B, K] of the next token, after `tokens` [B] (None: at the beginning)."""


@torch.no_grad()
def sample_in_order(
    network: AutoregressiveNetwork,
    vocabulary: Vocabulary,
    kinds: Tensor,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    given: Clamp | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_step: Callable[[Tensor, float], None] | None = None,
) -> Tensor:
    """Draw tokens [B, D] in their order, after those that are given; none is of another kind than its position's.

    `on_step` sees the tokens so far, masked where they are to come, with the share of them that is drawn.
    """
    length = kinds.shape[1]
    x = torch.full_like(kinds, vocabulary.mask_token if vocabulary.mask_token is not None else 0)
    state, previous = network.start(kinds), None
    if on_step:
        on_step(x, 0.0)
    for place in range(length):
        logits = network.next_logits(previous, state).double()
        possible = logits.masked_fill(~vocabulary.targets(kinds[:, place]), -torch.inf)
        uniforms = uniform((len(kinds),), generator, kinds.device)
        previous = draw(sharpen(possible, temperature).softmax(-1), uniforms)
        if given is not None:
            previous = torch.where(given.fixed[:, place], given.tokens[:, place], previous)
        x[:, place] = previous
        if on_step:
            on_step(x, (place + 1) / length)
        if progress:
            progress(place + 1, length)
    return x
