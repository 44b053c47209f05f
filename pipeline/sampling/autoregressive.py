"""Samples of an autoregressive network: one token after another, each given those before it."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from pipeline.flow.allowed import Allowed
from pipeline.flow.categorical import draw, sharpen, uniform
from pipeline.flow.clamp import Clamp
from pipeline.flow.vocabulary import Vocabulary


class AutoregressiveNetwork(Protocol):
    """A network that predicts one token after another."""

    def start(self, kinds: Tensor, labels: Tensor | None = None) -> object:
        """Return the state before the first token, given the kinds of positions [B, D] and the classes [B]."""

    def next_logits(self, tokens: Tensor | None, state: object) -> Tensor:
        """Return the logits [B, K] of the next token, after `tokens` [B] (None: at the beginning)."""


class OfClasses:
    """A network guided to classes [B], with logits u + scale (c - u): c with the class, u without.

    At scale 1 only c is computed, at scale 0 only u.
    """

    def __init__(self, network: AutoregressiveNetwork, labels: Tensor, classes: int, scale: float) -> None:
        self._network, self._scale = network, scale
        nothing = torch.full_like(labels, classes)
        self._labels = [labels] if scale == 1 else [nothing] if scale == 0 else [labels, nothing]

    def start(self, kinds: Tensor) -> list[object]:
        """Return the states before the first token, with the class and without."""
        return [self._network.start(kinds, labels) for labels in self._labels]

    def next_logits(self, tokens: Tensor | None, state: list[object]) -> Tensor:
        """Return the guided logits [B, K] of the next token."""
        with_class, *without = (self._network.next_logits(tokens, part) for part in state)
        return without[0] + self._scale * (with_class - without[0]) if without else with_class


@torch.no_grad()
def sample_in_order(
    network: AutoregressiveNetwork,
    vocabulary: Vocabulary,
    kinds: Tensor,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    given: Clamp | None = None,
    allowed: Allowed | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_step: Callable[[Tensor, float], None] | None = None,
) -> Tensor:
    """Draw tokens [B, D] in order, each of its position's kind; tokens that are `given` are kept.

    Where tokens are `allowed`, each is drawn from its set, in which the probabilities add up to 1.
    `on_step` gets the tokens so far, with masks in place of the rest, and the share that is drawn.
    """
    length = kinds.shape[1]
    x = torch.full_like(kinds, vocabulary.mask_token if vocabulary.mask_token is not None else 0)
    if allowed is not None:
        allowed.check(vocabulary, kinds, given)
    state, previous = network.start(kinds), None
    if on_step:
        on_step(x, 0.0)
    for place in range(length):
        logits = network.next_logits(previous, state).double()
        targets = vocabulary.targets(kinds[:, place])
        targets = targets if allowed is None else targets & allowed.sets[allowed.which[:, place]]
        possible = logits.masked_fill(~targets, -torch.inf)
        uniforms = uniform((len(kinds),), generator, kinds.device)
        previous = draw(sharpen(possible, temperature, top_k, top_p).softmax(-1), uniforms)
        if given is not None:
            previous = torch.where(given.fixed[:, place], given.tokens[:, place], previous)
        x[:, place] = previous
        if on_step:
            on_step(x, (place + 1) / length)
        if progress:
            progress(place + 1, length)
    return x
