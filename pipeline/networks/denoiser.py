"""What a sampler may ask of a network besides the logits of all tokens."""

import torch
from torch import Tensor, nn


class Denoiser(nn.Module):
    """A network that gives the logits of p(x1 | x_t) for tokens x [B, D] and times t [B], [B, D, K].

    `answers_at`: it also takes `at` [n], numbers of tokens in the flattened x, and gives the logits of these, [n, K].
    `ragged`: it takes x without its last columns if they hold nothing but pads, and the other logits stay the same.
    """

    answers_at = False
    ragged = False

    def conflicts(self, x: Tensor, free: Tensor, generator: torch.Generator) -> Tensor | None:
        """Return which `free` tokens of finished samples x [B, D] to draw anew, as they contradict others, bool [B, D].

        None: the network knows no conflicts.
        """
        return None


def chosen(features: Tensor, at: Tensor | None) -> Tensor:
    """Return the features [B, S, W] of some tokens, [n, W], or of all."""
    return features if at is None else features.flatten(0, 1).index_select(0, at)


def of_sequences(values: Tensor, sequences: Tensor) -> Tensor:
    """Return the values [B, 1, W] of some sequences [n], [n, W]; values [1, 1, W] are those of all sequences."""
    return values[:, 0] if len(values) == 1 else values[:, 0].index_select(0, sequences)
