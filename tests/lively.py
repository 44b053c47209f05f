"""Networks for images that have left the state before training."""

from typing import Any

from random_crystals import stirred
from torch import nn


def lively(network: nn.Module) -> Any:
    """Return the network with random numbers in place of all weights but those of norms, which are 1.

    Norms with weights near zero would leave so little of an input that what depends on it could not be seen.
    """
    network = stirred(network)
    for module in network.modules():
        if isinstance(module, (nn.GroupNorm, nn.RMSNorm)):
            nn.init.ones_(module.weight)
    return network
