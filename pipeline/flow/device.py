"""Constant tables that follow the tokens to their device, and where the host would have to wait for it."""

import torch
from torch import Tensor


class Table:
    """A constant tensor with one cached copy per device."""

    def __init__(self, values: Tensor) -> None:
        self._copies = {values.device: values}
        self._home = values.device

    @property
    def values(self) -> Tensor:
        """The tensor on the device it was made on."""
        return self._copies[self._home]

    def on(self, device: torch.device) -> Tensor:
        """Return the tensor on `device`."""
        if device not in self._copies:
            self._copies[device] = self.values.to(device)
        return self._copies[device]


def is_host(tensor: Tensor) -> bool:
    """Return whether the host can read the tensor's values without waiting for another device."""
    return tensor.device.type == "cpu"
