"""Random data shaped like an experiment's, and networks for such images, to measure how fast they train."""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipeline.config import Config, Training
from pipeline.config.plugins import DATASETS
from pipeline.crystals.tokens import layout
from pipeline.errors import KinoflowError
from pipeline.images.classifier import Classifier, Description
from pipeline.images.feature_choice import ChosenFeatures, comparison_options
from pipeline.images.imagedata import ImageData
from pipeline.images.vqgan import describe, new_vqgan, tokenizer_of
from pipeline.inspect.plan.shapes import Shape
from pipeline.tokens.token_data import SPLITS, TokenData


def made_up_tokens(config: Config, name: str, shape: Shape, rows: int) -> TokenData:
    """Return random tokens shaped like an experiment's data, with all that its paths may need."""
    experiment, generator = config.experiments[name], torch.Generator().manual_seed(0)
    chosen = DATASETS.chosen(experiment.data)
    if chosen.plugin.CRYSTALS:
        kinds = layout(torch.full((rows,), chosen.options.max_atoms), chosen.options.max_atoms)
    elif shape.vocabulary.kinds == 1:
        kinds = torch.zeros(rows, shape.length, dtype=torch.int64)
    else:
        raise KinoflowError(f"experiments.{name}.data: {chosen.name!r} has tokens of several kinds; do not measure it")
    tokens, embeddings = _tokens_of_kinds(kinds, shape.vocabulary.kind_of.values, generator), None
    if experiment.tokenizer is not None:
        codes = torch.randn(shape.vocabulary.size, experiment.tokenizer.network.code_features, generator=generator)
        embeddings = functional.normalize(codes, dim=-1)
    labels = torch.randint(max(1, shape.classes), (rows,), generator=generator)
    return TokenData(
        tokens,
        tokens[:1],
        tokens[:1],
        shape.vocabulary,
        {"name": chosen.name},
        distances=chosen.plugin.distances(chosen.options),
        embeddings=embeddings,
        grid=shape.grid,
        labels={"train": labels} if shape.classes else {},
        classes=shape.classes,
    )


def made_up_images(shape: Shape, rows: int) -> ImageData:
    """Return random images shaped like an experiment's."""
    assert shape.images is not None, "only experiments on images have them"
    images, generator = shape.images, torch.Generator().manual_seed(0)
    pixels = torch.randint(
        images.levels, (rows, images.side, images.side, images.channels), dtype=torch.uint8, generator=generator
    )
    classes = max(2, shape.classes)
    parts = {split: pixels if split == "train" else pixels[:1] for split in SPLITS}
    labels = {split: torch.arange(len(part)) % classes for split, part in parts.items()}
    names = tuple(map(str, range(classes)))
    return ImageData(parts, labels, names, images.levels, images.side, "none", {"name": "random"})


def made_up_tokenizer(config: Config, name: str, data: ImageData, training: Training, needed: list[Path]) -> nn.Module:
    """Return an untrained tokenizer whose discriminator, if it has one, starts at once."""
    chosen = tokenizer_of(config, name)
    loss = chosen.loss.model_copy(update={"adversarial_from": 0})
    return new_vqgan(
        chosen.model_copy(update={"loss": loss, "training": training}), describe(config, name, data), needed
    )


def made_up_classifier(config: Config, name: str, data: ImageData) -> nn.Module:
    """Return an untrained classifier."""
    options = ChosenFeatures.of(comparison_options(config, name).features).options
    return Classifier(Description(options=options, side=data.crop, channels=data.grid[2], classes=data.classes))


def _tokens_of_kinds(kinds: Tensor, kind_of: Tensor, generator: torch.Generator) -> Tensor:
    """Return random tokens for positions of `kinds` [B, D], each one that its position can hold."""
    tokens = torch.empty_like(kinds)
    for kind in kinds.unique().tolist():
        here, possible = kinds == kind, (kind_of == kind).nonzero().flatten()
        tokens[here] = possible[torch.randint(len(possible), (int(here.sum()),), generator=generator)]
    return tokens
