"""LPIPS, and the pickles that its weights come in."""

import copy
import io
import pickle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.config import TokenizerLoss
from pipeline.errors import KinoflowError
from pipeline.images.perceptual import Lpips, PickleError, read_arrays

NETWORKS: dict[str, tuple[str, list[int], list[int]]] = {
    "vgg16": ("VGG16_0", [3] * 13, [2, 3, 4, 5, 6]),
    "alexnet": ("AlexNet_0", [11, 5, 3, 3, 3], [2, 3, 4, 5, 6]),
}


def write(path: Path, network: str, head: float = 1.0) -> Path:
    """Write made-up weights of a few features, in the layout of the real ones."""
    name, sides, levels = NETWORKS[network]
    draw, features = np.random.default_rng(0), 3
    per_level = [2, 2, 3, 3, 3] if network == "vgg16" else [1] * 5
    widths = [width for width, layers in zip(levels, per_level, strict=True) for _ in range(layers)]
    weights: dict[str, Any] = {}
    for number, (side, width) in enumerate(zip(sides, widths, strict=True)):
        kernel = draw.normal(size=(side, side, features, width)) / side
        weights[f"Conv_{number}"] = {"kernel": kernel.astype("float32"), "bias": np.zeros(width, "float32")}
        features = width
    heads = {
        f"NetLinLayer_{number}": {"Conv_0": {"kernel": np.full((1, 1, width, 1), head, "float32")}}
        for number, width in enumerate(levels)
    }
    path.write_bytes(pickle.dumps({name: weights} | heads))
    return path


@pytest.fixture(params=["vgg16", "alexnet"])
def lpips(request: pytest.FixtureRequest, tmp_path: Path) -> Lpips:
    return Lpips.load(write(tmp_path / "weights", request.param), request.param)


@pytest.mark.parametrize("channels, side", [(3, 64), (1, 8), (3, 32)])
def test_it_is_zero_for_the_same_images_and_grows_with_noise(lpips: Lpips, channels: int, side: int) -> None:
    torch.manual_seed(0)
    images, noise = torch.rand(4, channels, side, side) * 2 - 1, torch.randn(4, channels, side, side)
    assert torch.equal(lpips(images, images), torch.zeros(4))
    little, much = lpips(images + 0.05 * noise, images), lpips(images + noise, images)
    assert bool((little > 0).all())
    assert bool((little < much).all())


def test_gradients_are_of_the_first_images_and_finite_where_no_feature_is_active(lpips: Lpips) -> None:
    images, others = torch.zeros(1, 3, 64, 64, requires_grad=True), torch.rand(1, 3, 64, 64, requires_grad=True)
    lpips(images, others).sum().backward()
    assert others.grad is None
    assert bool(images.grad.isfinite().all())


def test_it_is_the_weighted_sum_of_squared_differences_of_normalised_features(tmp_path: Path) -> None:
    double = Lpips.load(write(tmp_path / "double", "vgg16", head=2.0), "vgg16")
    single = Lpips.load(write(tmp_path / "single", "vgg16", head=1.0), "vgg16")
    images, others = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 64, 64)
    layers = zip(single._features(images), single._features(others), strict=True)
    expected = sum((one - other).square().sum(1).mean((1, 2)) for one, other in layers)
    assert torch.allclose(single(images, others), expected)
    assert torch.allclose(double(images, others), 2 * expected)


def test_its_weights_are_in_no_checkpoint_and_shared_by_copies(lpips: Lpips) -> None:
    holder = nn.Module()
    holder.lpips = lpips
    assert not holder.state_dict()
    assert not list(holder.parameters())
    assert copy.deepcopy(holder).lpips is lpips


@pytest.mark.parametrize("network", ["vgg16", "alexnet"])
def test_only_a_loss_with_lpips_needs_files(network: Literal["vgg16", "alexnet"]) -> None:
    assert TokenizerLoss(perceptual_network=network).files == [f"lpips/{network}.ckpt"]
    assert TokenizerLoss(perceptual_network=network, perceptual=0.0).files == []


def test_weights_of_another_network_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="not the weights of alexnet"):
        Lpips.load(write(tmp_path / "weights", "vgg16"), "alexnet")


def test_negative_weights_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(KinoflowError, match="must not be negative"):
        Lpips.load(write(tmp_path / "weights", "vgg16", head=-1.0), "vgg16")


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("harm"),)


class Evaluated:
    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("open('harm', 'w')",)


@pytest.mark.parametrize("content", [Harmful(), {"array": np.zeros(2), "rest": [Evaluated()]}, torch.nn.Linear])
def test_a_pickle_that_asks_for_more_than_arrays_is_refused_and_not_run(
    content: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights").write_bytes(pickle.dumps(content))
    with pytest.raises(PickleError, match=r"weights: asks for .*, which is no array; the file is not to be trusted"):
        read_arrays(tmp_path / "weights")
    assert not (tmp_path / "harm").exists()


def test_arrays_of_objects_and_references_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "objects").write_bytes(pickle.dumps(np.array([None, 1], dtype=object)))
    with pytest.raises(PickleError, match="which are no numbers"):
        read_arrays(tmp_path / "objects")
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream)
    pickler.persistent_id = lambda value: "elsewhere"  # type: ignore[method-assign, assignment]
    pickler.dump([1])
    (tmp_path / "elsewhere").write_bytes(stream.getvalue())
    with pytest.raises(PickleError, match="outside of the file"):
        read_arrays(tmp_path / "elsewhere")


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_arrays_in_containers_come_back_as_they_were(protocol: int, tmp_path: Path) -> None:
    content = {"one": np.arange(6, dtype="float32").reshape(2, 3), "rest": [(1, 2.5, "text"), np.int64(3)]}
    (tmp_path / "arrays").write_bytes(pickle.dumps(content, protocol=protocol))
    found = read_arrays(tmp_path / "arrays")
    assert np.array_equal(found["one"], content["one"])
    assert found["rest"] == content["rest"]


def test_a_damaged_pickle_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(pickle.dumps(np.zeros(3))[:-20])
    with pytest.raises(PickleError, match="no pickle of arrays"):
        read_arrays(tmp_path / "weights")
