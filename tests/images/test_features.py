"""Features of images: what the networks are given, what they return, and what is said if they cannot be had."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.images.efficientnet_lite import EfficientNetLite0, SameConvolution
from pipeline.images.extractor import FeatureExtractor, resized
from pipeline.images.feature_choice import ChosenFeatures, FeatureChoice
from pipeline.images.features import cifar_resnet, efficientnet_lite0, inception
from pipeline.images.resnet import CLASSES, Block, CifarResNet

CPU = torch.device("cpu")
WAYS = ("{name: inception, path:", "{name: cifar_resnet}", "{name: efficientnet_lite0}", "{name: classifier}")
RESNET20, RESNET56 = (cifar_resnet.files(cifar_resnet.Options(depth=depth))[0] for depth in (20, 56))
LITE = efficientnet_lite0.FILES[0]


def load(name: str, *, cache: Path = Path("none"), **options: Any) -> FeatureExtractor:
    return ChosenFeatures.of(FeatureChoice(name=name, **options)).load(cache=cache, classifier=None, device=CPU)


def pictures(n: int, side: int, channels: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(256, (n, side, side, channels), generator=generator, dtype=torch.uint8)


class TinyScript(nn.Module):
    """The mean of each channel, and the rows and columns: what a network in TorchScript is called as."""

    def forward(self, images: Tensor, return_features: bool = False) -> Tensor:
        if images.dtype != torch.uint8 or not return_features:
            raise RuntimeError("bytes and features expected")
        means = images.float().mean(dim=[2, 3])
        size = torch.tensor([images.shape[2], images.shape[3]]).float()
        return torch.cat([means, size.expand(len(images), 2)], dim=1)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.pt"
    torch.jit.save(torch.jit.script(TinyScript()), str(path))
    return path


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inception_is_given_bytes_with_the_channels_first(script: Path) -> None:
    extractor = load("inception", path=str(script))
    images = pictures(3, 8, 3)
    features = extractor.features(images)
    assert extractor.width == 5
    assert features.dtype == torch.float32
    assert torch.allclose(features[:, :3], images.float().mean(dim=(1, 2)))
    assert features[:, 3:].tolist() == [[8, 8]] * 3  # it resizes by itself
    assert extractor.classes_of(extractor.features(images)) is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_grey_images_are_the_same_in_all_channels(script: Path) -> None:
    grey = pictures(2, 8, 1)
    features = load("inception", path=str(script)).features(grey)
    assert torch.allclose(features[:, :3], grey.float().mean(dim=(1, 2)).expand(2, 3))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inception_is_found_in_the_cache(script: Path, tmp_path: Path) -> None:
    (tmp_path / "inception").mkdir()
    script.rename(tmp_path / inception.FILE)
    assert load("inception", cache=tmp_path).width == 5


@pytest.mark.parametrize(
    "choice, reason",
    [
        ({"name": "inception"}, "python -m pipeline fetch inception --cache"),
        ({"name": "inception"}, "https://nvlabs-fi-cdn.nvidia.com/"),
        ({"name": "inception"}, "data.mirror (or KINOFLOW_MIRROR)"),
        ({"name": "inception", "path": "/no/such.pt"}, "no such file; give the path of one"),
        ({"name": "cifar_resnet"}, "python -m pipeline fetch cifar10_resnet --cache"),
        ({"name": "efficientnet_lite0"}, "python -m pipeline fetch efficientnet_lite0 --cache"),
        ({"name": "classifier"}, "there are no weights of it (None); train it"),
    ],
)
def test_features_that_cannot_be_had_are_an_error_with_the_ways_to_have_some(
    choice: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(KinoflowError) as caught:
        load(cache=tmp_path, **choice)
    assert reason in str(caught.value)
    assert all(way in str(caught.value) for way in WAYS)


def test_a_file_that_is_no_torchscript_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(b"no archive")
    with pytest.raises(KinoflowError, match=r"weights\.pt: no TorchScript file"):
        load("inception", path=str(path))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_script_that_cannot_be_called_as_the_network_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "linear.pt"
    torch.jit.save(torch.jit.script(nn.Linear(3, 3)), str(path))
    with pytest.raises(KinoflowError, match="cannot be called as network"):
        load("inception", path=str(path))


class Payload:
    """What a malicious file would do when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("unpickled"),)


@pytest.mark.parametrize("name, file", [("cifar_resnet", RESNET56), ("efficientnet_lite0", LITE)])
@pytest.mark.parametrize("content", [b"damaged", pickle.dumps(Payload(), protocol=2)], ids=["damaged", "malicious"])
def test_damaged_or_malicious_weights_are_an_error_and_run_nothing(
    name: str, file: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_bytes(content)
    with pytest.raises(KinoflowError, match="remove it and fetch it again"):
        load(name, cache=tmp_path)
    assert not Path("unpickled").exists()


@pytest.fixture(scope="module")
def resnets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write random weights as the published files have them: under names with a prefix."""
    cache = tmp_path_factory.mktemp("cache")
    torch.manual_seed(0)
    for depth, file in ((20, RESNET20), (56, RESNET56)):
        weights = {f"module.{name}": value for name, value in CifarResNet(depth).state_dict().items()}
        (cache / file).parent.mkdir(exist_ok=True)
        torch.save({"state_dict": weights, "best_prec1": 0.0}, cache / file)
    return cache


@pytest.mark.parametrize("depth, parameters", [(20, 269_722), (56, 853_018)])
def test_the_residual_networks_have_as_many_weights_as_those_of_the_paper(depth: int, parameters: int) -> None:
    assert sum(parameter.numel() for parameter in CifarResNet(depth).parameters()) == parameters


def test_a_shortcut_takes_every_second_pixel_and_adds_channels_of_zeros() -> None:
    block = Block(2, 4, 2).eval()
    nn.init.zeros_(block.bn2.weight)  # nothing but the shortcut is left
    features = torch.rand(1, 2, 6, 6)
    after = block(features)
    assert torch.equal(after[:, 1:3], features[:, :, ::2, ::2])
    assert not after[:, [0, 3]].any()


def test_the_residual_network_sees_normalised_colours_and_tells_a_class(resnets: Path) -> None:
    extractor = load("cifar_resnet", cache=resnets, depth=20)
    images = pictures(4, 32, 3)
    network = CifarResNet(20).eval()
    saved = torch.load(resnets / RESNET20, weights_only=True)["state_dict"]
    network.load_state_dict({name.removeprefix("module."): value for name, value in saved.items()})
    colours = images.permute(0, 3, 1, 2) / 255
    for channel, (mean, deviation) in enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))):
        colours[:, channel] = (colours[:, channel] - mean) / deviation
    with torch.no_grad():
        features = network(colours)
        told = network.linear(features).argmax(dim=1)
    assert torch.allclose(extractor.features(images), features, atol=1e-5)
    assert (extractor.width, extractor.classes) == (64, CLASSES)
    assert torch.equal(extractor.classes_of(extractor.features(images)), told)  # type: ignore[arg-type]


def test_features_do_not_depend_on_the_other_images_of_a_batch(resnets: Path) -> None:
    extractor, images = load("cifar_resnet", cache=resnets), pictures(4, 32, 3)
    one_by_one = torch.cat([extractor.features(image[None]) for image in images])
    assert torch.allclose(extractor.features(images), one_by_one, atol=1e-5)
    assert not torch.allclose(one_by_one[0], one_by_one[1], atol=1e-3)


def test_images_of_other_sizes_are_resized(resnets: Path) -> None:
    extractor = load("cifar_resnet", cache=resnets, depth=20)
    small = pictures(2, 8, 1)
    doubled = resized(small.permute(0, 3, 1, 2).float(), 32).round().to(torch.uint8).permute(0, 2, 3, 1)
    assert torch.allclose(extractor.features(small), extractor.features(doubled), atol=0.02)


def test_an_image_that_shrinks_is_filtered_first() -> None:
    stripes = torch.tensor([1.0, 0.0, 0.0, 1.0]).repeat(16).expand(1, 1, 64, 64)
    assert torch.allclose(resized(stripes, 16)[..., 2:-2], torch.tensor(0.5), atol=0.05)


@pytest.mark.parametrize("side, size, stride, before", [(224, 3, 2, 0), (112, 5, 2, 1), (7, 3, 2, 1), (8, 3, 1, 1)])
def test_odd_pads_stand_at_the_end(side: int, size: int, stride: int, before: int) -> None:
    convolution = SameConvolution(1, 1, size, stride)
    image = torch.rand(1, 1, side, side)
    padded = functional.pad(image, (before, size, before, size))  # more at the end than is needed: cut below
    with torch.no_grad():
        expected = functional.conv2d(padded, convolution.weight, stride=stride)
        found = convolution(image)
    assert found.shape[-1] == -(-side // stride)
    assert torch.allclose(found, expected[..., : found.shape[-2], : found.shape[-1]], atol=1e-6)


def test_efficientnet_lite0_has_the_published_number_of_weights_and_sees_224_pixels(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = EfficientNetLite0().eval()
    assert sum(parameter.numel() for parameter in network.parameters()) == 4_652_008
    assert {norm.eps for norm in network.modules() if isinstance(norm, nn.BatchNorm2d)} == {1e-3}
    file = tmp_path / LITE
    file.parent.mkdir()
    torch.save(network.state_dict(), file)
    extractor, images = load("efficientnet_lite0", cache=tmp_path), pictures(1, 224, 3)
    with torch.no_grad():
        expected = network((images.permute(0, 3, 1, 2).float() - 127) / 128)
    assert extractor.width == 1280
    assert torch.allclose(extractor.features(images), expected, atol=1e-5)
    assert extractor.features(pictures(2, 8, 1)).shape == (2, 1280)


def test_images_that_are_no_bytes_are_an_error(resnets: Path) -> None:
    with pytest.raises(KinoflowError, match=r"uint8\[N, H, W, 1 or 3\] expected, got torch.float32"):
        load("cifar_resnet", cache=resnets, depth=20).features(torch.rand(1, 32, 32, 3))


def test_features_that_are_not_finite_are_an_error() -> None:
    broken = FeatureExtractor(lambda images: torch.full((len(images), 2), torch.nan), 2, CPU)
    with pytest.raises(KinoflowError, match="not finite"):
        broken.features(pictures(1, 4, 1))
