"""The networks of an experiment: their parameters and floating-point operations, counted on tensors without values.

Matrix products, convolutions and attention are counted, with two operations per multiplication; elementwise operations
are not. Causal attention is counted as if it saw everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from pipeline.config import Experiment, ModelChoice, Tokenizer, Training
from pipeline.config.plugins import MODELS
from pipeline.images.classifier import Classifier, Description, training_of
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.perceptual import LAYERS, Lpips
from pipeline.images.vqgan import new_discriminator
from pipeline.images.vqvae import VQVAE
from pipeline.inspect.plan.shapes import Images, Shape
from pipeline.networks.saved import TokenShape, is_told_classes, new_network
from pipeline.stages.job import Job

BACKWARD = 2  # times the operations of a forward pass: gradients of the features, and of the weights
# Kernel size and features of each layer of LPIPS, in order.
_KERNELS: dict[Literal["vgg16", "alexnet"], tuple[tuple[int, int], ...]] = {
    "vgg16": tuple((3, features) for features in (64, 64, 128, 128, *[256] * 3, *[512] * 6)),
    "alexnet": ((11, 64), (5, 192), (3, 384), (3, 256), (3, 256)),
}


@dataclass(frozen=True)
class Count:
    """The parameters of a network, the numbers in its file, and the FLOPs of a forward pass over one sequence."""

    parameters: int
    stored: int
    forward: int

    @classmethod
    def of(cls, network: nn.Module, forward: int) -> "Count":
        """Return the count of a network; its file has shared parameters once, and buffers."""
        stored = {id(tensor): tensor.numel() for tensor in network.state_dict(keep_vars=True).values()}
        return cls(sum(parameter.numel() for parameter in network.parameters()), sum(stored.values()), forward)


@dataclass(frozen=True)
class TokenizerCount:
    """The VQVAE, its discriminator (None: there is none), and the FLOPs per image of each kind of work."""

    vqvae: Count
    discriminator: Count | None
    encode: int
    decode: int
    quiet_step: int  # of training, before the discriminator starts
    step: int  # and with it


@dataclass(frozen=True)
class Networks:
    """The network of each run with its label, and the other networks that an experiment trains."""

    of_run: dict[str, tuple[str, Count]]
    trained: dict[str, list[str]]  # by label: the runs that train one
    tokenizer: TokenizerCount | None
    classifier: tuple[Count, Training] | None
    judge: str | None  # label of the network that judges texts

    def count(self, label: str) -> Count:
        """Return the count of the network with this label."""
        return next(count for other, count in self.of_run.values() if other == label)

    def rows(self) -> list[tuple[str, int, Count]]:
        """Return the label of each distinct network, how many of these are trained, and its count."""
        rows = [(label, len(runs), self.count(label)) for label, runs in self.trained.items()]
        if self.tokenizer is not None:
            rows.append(("tokenizer: VQVAE", 1, self.tokenizer.vqvae))
            if self.tokenizer.discriminator is not None:
                rows.append(("tokenizer: discriminator", 1, self.tokenizer.discriminator))
        if self.classifier is not None:
            rows.append(("classifier", 1, self.classifier[0]))
        return rows


def networks_of(job: Job, shape: Shape) -> Networks:
    """Count all networks of an experiment, each distinct one once."""
    counted: dict[str, tuple[str, Count]] = {}
    of_run, trained = dict[str, tuple[str, Count]](), dict[str, list[str]]()
    for run, chosen in job.block.runs.items():
        meaning = chosen.model.model_dump_json()
        if meaning not in counted:
            counted[meaning] = _label(job.block, run), count_network(chosen.model, shape)
        of_run[run] = counted[meaning]
        if not chosen.weights:
            trained.setdefault(of_run[run][0], []).append(run)
    tokenizer = classifier = None
    if shape.images is not None and job.block.tokenizer is not None:
        tokenizer = count_tokenizer(job.block.tokenizer, job.data.options.codes, shape.images)
    if shape.images is not None and job.trains_classifier():
        options = ChosenFeatures.of(comparison_options(job.config, job.experiment).features).options
        classifier = count_classifier(options, shape.images, shape.classes), training_of(options)
    judge = job.judging_run()
    return Networks(of_run, trained, tokenizer, classifier, None if judge is None else of_run[judge][0])


def _label(experiment: Experiment, run: str) -> str:
    """Return the name of a run's network, and the options that differ from the shared ones."""
    model, shared = experiment.runs[run].model, experiment.model
    if shared is None or model.name != shared.name:
        shared = next(other.model for other in experiment.runs.values() if other.model.name == model.name)
    own = {key: value for key, value in model.options.items() if shared.options.get(key) != value}
    return ", ".join([model.name, *(f"{key}: {value}" for key, value in own.items())])


def flops_of(work: Callable[[], Any]) -> int:
    """Return the FLOPs of some work; attention on CPUs is counted only if it consists of matrix products."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def count_network(choice: ModelChoice, shape: TokenShape) -> Count:
    """Count a network for data of some shape."""
    try:
        return _counted(choice, shape, "meta")
    except (RuntimeError, NotImplementedError):
        # It reads the values of its input, and meta tensors have none: count it on the CPU.
        return _counted(choice, shape, "cpu")


def _counted(choice: ModelChoice, shape: TokenShape, device: str) -> Count:
    with torch.device(device):
        network = new_network(choice, shape).eval().requires_grad_(False)
        x = torch.zeros(1, shape.length, dtype=torch.int64)
        inputs: list[Tensor] = [x] if is_autoregressive(choice) else [x, torch.zeros(1)]
        further = {"labels": torch.zeros(1, dtype=torch.int64)} if is_told_classes(choice) else {}
    return Count.of(network, flops_of(lambda: network(*inputs, **further)))


def is_autoregressive(choice: ModelChoice) -> bool:
    """Return whether a network predicts the next token, and takes no time."""
    return MODELS.load(choice.name).AUTOREGRESSIVE


def count_tokenizer(tokenizer: Tokenizer, codes: int, images: Images) -> TokenizerCount:
    """Count a tokenizer for images, with all that it is trained with."""
    network, loss = tokenizer.network, tokenizer.loss
    with torch.device("meta"):
        vqvae = VQVAE(network, codes, images.channels).eval().requires_grad_(False)
        discriminator = new_discriminator(loss, images.channels, images.side)
        picture = torch.empty(1, images.channels, images.side, images.side)
        places = images.side // network.down
        latents = torch.empty(1, network.code_features, places, places)
    nearest = 2 * places**2 * codes * network.code_features  # the products of all vectors with all codes
    encode = flops_of(lambda: vqvae.encoder(picture)) + nearest
    decode = flops_of(lambda: vqvae.decoder(latents))
    # Codes are updated with products of the same size, and have no gradients.
    quiet = (1 + BACKWARD) * (encode + decode - nearest) + 2 * nearest
    quiet += count_lpips(loss.perceptual_network, picture) if loss.perceptual else 0
    judge = None
    if discriminator is not None:
        judge = Count.of(discriminator, flops_of(lambda: discriminator.requires_grad_(False)(picture)))
    # For the VQVAE, the discriminator sees each reconstruction once, with gradients for the features only. For itself,
    # it sees each reconstruction and each image, with all gradients.
    step = quiet + ((1 + 1) + 2 * (1 + BACKWARD)) * (judge.forward if judge else 0)
    return TokenizerCount(Count.of(vqvae, encode + decode), judge, encode, decode, quiet, step)


def count_lpips(network: Literal["vgg16", "alexnet"], picture: Tensor) -> int:
    """Return the FLOPs of LPIPS and of its gradients, which only the features of one image have."""
    kernels, widths = _KERNELS[network], [3, *(features for _, features in _KERNELS[network])]
    with torch.device(picture.device):
        layers = [
            torch.empty(after, before, side, side)
            for (side, _), (before, after) in zip(kernels, pairwise(widths), strict=True)
        ]
        biases = [torch.empty(after) for after in widths[1:]]
        _, chosen = LAYERS[network]
        compared = [width for layer, width in zip(chosen, widths[1:], strict=True) if layer.compared]
        lpips = Lpips(chosen, layers, biases, [torch.empty(width) for width in compared])
    return flops_of(lambda: lpips(picture, picture)) * 3 // 2


def count_classifier(options: Any, images: Images, classes: int) -> Count:
    """Count the classifier whose features are used to compare images."""
    names, side, channels = tuple(map(str, range(max(2, classes)))), images.side, images.channels
    with torch.device("meta"):
        description = Description(options=options, side=side, channels=channels, classes=names)
        classifier = Classifier(description).eval().requires_grad_(False)
        picture = torch.empty(1, side, side, channels, dtype=torch.uint8)
    return Count.of(classifier, flops_of(lambda: classifier(picture)))
