"""The gradients of a batch, part by part."""

from collections.abc import Callable, Sequence

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from pipeline.networks.devices import seed_dropout
from pipeline.store.seeds import derive_seed

# (network, rows on the host, noise of the device) -> losses on the device
Objective = Callable[[nn.Module, Tensor, torch.Generator], Tensor]


def add_gradients(
    fabric: Fabric, model: nn.Module, objective: Objective, parts: Sequence[Tensor], seed: int, step: int
) -> Tensor:
    """Add up the gradients of a batch, part by part, and return its mean loss; each process does its share of parts."""
    own = range(fabric.global_rank, len(parts), fabric.world_size)
    total = torch.zeros((), dtype=torch.float64, device=fabric.device)
    for part in own:
        noise = torch.Generator(fabric.device).manual_seed(derive_seed(seed, "noise", step, part))
        seed_dropout(fabric.device, derive_seed(seed, "dropout", step, part))
        with fabric.no_backward_sync(model, enabled=part != own[-1]):  # type: ignore[arg-type]
            loss = objective(model, parts[part], noise).mean() / len(own)
            fabric.backward(loss)
        total += loss.detach()
    return total if fabric.world_size == 1 else torch.as_tensor(fabric.all_reduce(total, reduce_op="mean"))
