"""Crystals of random tokens, and networks that have left the state before training."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.crystals import tokens

VOCABULARY = tokens.vocabulary()
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12}  # allowed for logits; the second shows that it is no more


def random_crystals(atoms: Sequence[int], max_atoms: int, seed: int = 0) -> Tensor:
    """Return crystals with the given numbers of atoms, [B, 6 + 4 max_atoms]."""
    kinds = tokens.layout(torch.tensor(atoms), max_atoms)
    weights = VOCABULARY.targets(kinds).flatten(0, 1).double()
    return torch.multinomial(weights, 1, generator=torch.Generator().manual_seed(seed)).view(kinds.shape)


def stirred(network: nn.Module) -> Any:
    """Return the network with random numbers in place of all weights, for evaluation; zeros would hide mistakes.

    Their deviation keeps logits of the order of 1, so that rounding in float32 stays well below 1e-5.
    """
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.1, generator=generator)
    return network.eval()


def parameters_of(network: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in network.parameters())


def without_gradient(network: nn.Module, loss: Tensor) -> list[str]:
    """Return the names of the parameters that a loss does not depend on."""
    network.zero_grad()
    loss.backward()
    return [name for name, values in network.named_parameters() if values.grad is None or not bool(values.grad.any())]
