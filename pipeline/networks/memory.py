"""The least memory of a network and of its batches, known before either is made."""

from typing import Any

import torch
from torch import Tensor, nn

from pipeline.config import ModelChoice, Sampling, Training
from pipeline.config.plugins import MODELS
from pipeline.networks.saved import FLOAT, TokenShape, bytes_of_weights, is_told_classes, named, without_values
from pipeline.store.memory import check_room

INTEGER = 8  # bytes of a token
COPIES = 5  # of the weights in training: these, their gradients, two moments, the average


def training_bytes(choice: ModelChoice, training: Training, shape: TokenShape) -> float:
    """Return the bytes of the weights, of a batch, and of what its gradients need of one of its parts."""
    network = without_values(choice, shape)
    kept = _bytes_for_gradients(network, choice, shape) * (1 if training.precision in ("32-true", "tf32") else 0.5)
    weights = COPIES * FLOAT * sum(parameter.numel() for parameter in network.parameters())
    return weights + INTEGER * training.batch * shape.length + kept * (training.batch // training.parts)


def check_training(choice: ModelChoice, training: Training, data: TokenShape, gpus: int) -> None:
    """Raise if a training cannot fit into the memory of the device."""
    fix = f"lower training.batch ({training.batch}), raise training.parts, or shrink the network ({named(choice)})"
    check_room(training_bytes(choice, training, data), "training", fix, **_place(gpus))


def check_sampling(choice: ModelChoice, sampling: Sampling, data: TokenShape, gpus: int) -> None:
    """Raise if a network and the tokens of a block of samples cannot fit into the memory of the device."""
    tokens = 4 * INTEGER * min(sampling.block, sampling.count) * data.length
    fix = f"lower sampling.block ({sampling.block}), or shrink the network ({named(choice)}) and train it again"
    check_room(bytes_of_weights(choice, data) + tokens, "sampling", fix, **_place(gpus))


def check_count(count: int, length: int) -> None:
    """Raise if so many sequences that are drawn in one go cannot fit into the memory."""
    check_room(4 * INTEGER * float(count) * length, f"--count {count}:", "ask for fewer, in several calls")


def _bytes_for_gradients(network: nn.Module, choice: ModelChoice, shape: TokenShape) -> float:
    """Return the bytes that a forward pass keeps for gradients, for each sequence; 0 if it reads values."""
    try:
        return float(_kept(network, choice, shape, 2) - _kept(network, choice, shape, 1))  # without the weights
    except (RuntimeError, NotImplementedError):  # tensors without values cannot tell
        return 0.0


def _kept(network: nn.Module, choice: ModelChoice, shape: TokenShape, rows: int) -> int:
    sizes: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.device("meta"), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        x = torch.zeros(rows, shape.length, dtype=torch.int64)
        inputs = [x] if MODELS.load(choice.name).AUTOREGRESSIVE else [x, torch.zeros(rows)]
        told = {"labels": torch.zeros(rows, dtype=torch.int64)} if is_told_classes(choice) else {}
        network(*inputs, **told)
    return sum(sizes)


def _place(gpus: int) -> dict[str, Any]:
    seen = gpus and torch.cuda.is_available()  # whether there are enough is asked elsewhere
    return {"room": torch.cuda.mem_get_info()[1], "place": "a GPU here"} if seen else {}
