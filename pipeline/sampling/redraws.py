"""Tokens that contradict each other are drawn anew, as often as a round is left, while all others are kept.

What a network draws one token after the other need not fit together: atoms end in places where others leave no room.
The network says which tokens to give up (`Denoiser.conflicts`), and fills them in again given all others. So samples
follow the network's distribution without conflicts more closely, but not exactly.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.errors import KinoflowError
from pipeline.flow.clamp import Clamp
from pipeline.flow.sampler import Samples
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.saved import SavedModel

Draw = Callable[[Tensor, Clamp], Samples]  # (numbers of sequences [b], their given tokens) -> these sequences


def redraw(
    model: SavedModel, drawn: Samples, free: Tensor, rounds: int, generator: torch.Generator, draw: Draw
) -> Samples:
    """Return the samples after at most so many rounds; only tokens that are `free` [B, D] are drawn anew."""
    network, noised = model.network, model.path is not None and model.path.needs_time
    if not isinstance(network, Denoiser) or model.path is None:
        raise _knows_none(model)
    tokens, visits = drawn.tokens.clone(), drawn.visits.clone()
    for _ in range(rounds):
        hidden = network.conflicts(tokens, free, generator)
        if hidden is None:
            raise _knows_none(model)
        rows = hidden.any(-1).nonzero().squeeze(-1)
        if not len(rows):
            break
        again = draw(rows, Clamp(tokens[rows], ~hidden[rows], noised))
        tokens[rows] = again.tokens
        visits[rows.to(visits.device)] += again.visits
    return Samples(tokens, drawn.evaluations, visits)


def _knows_none(model: SavedModel) -> KinoflowError:
    return KinoflowError(
        f"run {model.description.run!r}: sampling.redraws needs a network with a path that knows conflicts, such as "
        "crystal_dit with spacing; set sampling.redraws to 0"
    )
