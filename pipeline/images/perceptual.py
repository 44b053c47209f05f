"""LPIPS: how different two images look to a network trained to classify images (R. Zhang et al., 2018).

    d(x, y) = sum_l mean_p sum_c w_lc (f_lcp(x) - f_lcp(y))^2

f_l are the features of layer l, scaled to length one at each place p; the weights w_l >= 0 were fitted to human
judgements.
Letters in shapes: B images of C channels and side S, F features.
"""

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.flow.device import Table

_BUILDERS = {"_reconstruct", "_frombuffer", "scalar"}
_MODULES = {f"numpy.{core}.{part}" for core in ("core", "_core") for part in ("multiarray", "numeric")}  # by version
SMALLEST_SIDE = 64  # smaller images are enlarged: AlexNet would shrink them to nothing, VGG16 nearly so
_TINY = 1e-20
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)  # the colours of ImageNet, for values in [-1, 1]


class PickleError(KinoflowError):
    """A file that is not a pickle, or holds more than arrays."""


class ArrayUnpickler(pickle.Unpickler):
    """Reads arrays of numbers and containers of them; anything else in a pickle raises and is not run."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what builds an array; a pickle can call nothing else."""
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _number_type
        if module in _MODULES and name in _BUILDERS:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise PickleError(f"asks for {module}.{name}, which is no array")

    def persistent_load(self, pid: Any) -> Any:
        """Raise: arrays refer to nothing outside the file."""
        raise PickleError(f"refers to {pid!r} outside of the file")


def read_arrays(path: Path) -> Any:
    """Return the containers of arrays in a pickle; nothing else in it is read or run."""
    try:
        return ArrayUnpickler(io.BytesIO(path.read_bytes())).load()
    except PickleError as error:
        raise PickleError(f"{path}: {error}; the file is not to be trusted: remove it and fetch it again") from None
    except OSError as error:
        raise PickleError(f"{path}: cannot be read ({error}); fetch it again") from error
    except Exception as error:  # a damaged pickle may raise anything
        raise PickleError(f"{path}: no pickle of arrays ({error!r}); remove it and fetch it again") from error


def _number_type(code: Any, *rest: Any) -> "np.dtype[Any]":
    """Return the type of an array's numbers; other types, above all objects, are refused."""
    found = np.dtype(code, *rest)
    if found.kind not in "biufc":
        raise PickleError(f"has an array of {code!r}, which are no numbers")
    return found


@dataclass(frozen=True)
class _Layer:
    """A convolution, the pooling before it, and whether its features are compared."""

    stride: int = 1
    padding: int = 1
    pool: int = 0  # kernel size of the max pooling, with stride 2; 0: none
    compared: bool = False


_PLAIN, _POOLED, _COMPARED = _Layer(), _Layer(pool=2), _Layer(compared=True)
LAYERS: dict[Literal["vgg16", "alexnet"], tuple[str, tuple[_Layer, ...]]] = {
    "vgg16": ("VGG16_0", (_PLAIN, _COMPARED, _POOLED, _COMPARED, *(_POOLED, _PLAIN, _COMPARED) * 3)),
    "alexnet": (
        "AlexNet_0",
        (
            _Layer(stride=4, padding=2, compared=True),
            _Layer(padding=2, pool=3, compared=True),
            _Layer(pool=3, compared=True),
            _COMPARED,
            _COMPARED,
        ),
    ),
}


class Lpips:
    """The difference of images. Its weights are constants: not parameters, in no checkpoint, shared by all copies."""

    def __init__(self, layers: tuple[_Layer, ...], kernels: list[Tensor], biases: list[Tensor], heads: list[Tensor]):
        self._layers = layers
        self._kernels, self._biases, self._heads = (list(map(Table, part)) for part in (kernels, biases, heads))
        self._shift, self._scale = (Table(torch.tensor(values)[:, None, None]) for values in (_SHIFT, _SCALE))

    @classmethod
    def load(cls, path: Path, network: Literal["vgg16", "alexnet"]) -> "Lpips":
        """Read the weights of a network from the file of the catalogue, with kernels [side, side, F, F']."""
        arrays, (name, layers) = read_arrays(path), LAYERS[network]
        try:
            convolutions = [arrays[name][f"Conv_{number}"] for number in range(len(layers))]
            kernels = [_tensor(each["kernel"]).permute(3, 2, 0, 1).contiguous() for each in convolutions]
            biases = [_tensor(each["bias"]) for each in convolutions]
            compared = range(sum(layer.compared for layer in layers))
            heads = [_tensor(arrays[f"NetLinLayer_{number}"]["Conv_0"]["kernel"]).flatten() for number in compared]
        except (KeyError, TypeError, IndexError, RuntimeError) as error:
            raise KinoflowError(f"{path}: not the weights of {network} ({error!r}); fetch the file again") from error
        if any(bool((head < 0).any()) for head in heads):
            raise KinoflowError(f"{path}: weights of differences must not be negative; fetch the file again")
        return cls(layers, kernels, biases, heads)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Lpips":
        return self

    def __call__(self, images: Tensor, others: Tensor) -> Tensor:
        """Return how different images [B, C, S, S] with values in [-1, 1] look, [B]; only `images` gets gradients."""
        with torch.no_grad():
            expected = self._features(others)
        total = images.new_zeros(len(images), dtype=torch.float32)
        for head, ours, theirs in zip(self._heads, self._features(images), expected, strict=True):
            differences = (ours - theirs).square()  # [B, F, P, P]
            total = total + torch.einsum("bfhw,f->bhw", differences, head.on(images.device)).mean((1, 2))
        return total

    def _features(self, images: Tensor) -> list[Tensor]:
        """Return the compared features [B, F, P, P], scaled to length one at each place."""
        device, features = images.device, images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
        if (side := min(images.shape[-2:])) < SMALLEST_SIDE:
            features = functional.interpolate(features, scale_factor=-(-SMALLEST_SIDE // side), mode="bilinear")
        features = (features - self._shift.on(device)) / self._scale.on(device)
        found = []
        for layer, kernel, bias in zip(self._layers, self._kernels, self._biases, strict=True):
            if layer.pool:
                features = functional.max_pool2d(features, layer.pool, 2)
            features = functional.relu(
                functional.conv2d(features, kernel.on(device), bias.on(device), layer.stride, layer.padding)
            )
            if layer.compared:
                exact = features.float()
                # Add inside the root: at zero, where no feature is active, its slope would be infinite.
                found.append(exact / (exact.square().sum(1, keepdim=True) + _TINY).sqrt())
        return found


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(np.asarray(array, dtype=np.float32))
