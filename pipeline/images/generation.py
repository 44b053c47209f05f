"""Draw images of one class, or of each class in turn, with the network of a finished run."""

from pathlib import Path

import torch

from pipeline.config import Config
from pipeline.errors import KinoflowError, did_you_mean
from pipeline.images.decoding import Decoder
from pipeline.images.grids import shown_grid, write_png, write_png_archive
from pipeline.networks.devices import check_gpus
from pipeline.networks.memory import check_count
from pipeline.networks.saved import load_network
from pipeline.sampling.blocks import draw_around, labels_of
from pipeline.sampling.conditions import changed_sampling
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData


def generate_images(
    config: Config,
    experiment: str,
    run: str,
    *,
    tokens: Path,
    weights: Path,
    tokenizer: Path | None,
    label: str | None,
    count: int,
    steps: int | None,
    guidance: float | None,
    seed: int,
    gpus: int,
    output: Path,
) -> None:
    """Draw `count` images and write them to a folder, as PNG files in an archive and as a grid."""
    if count < 1:
        raise KinoflowError(f"--count {count}: give 1 or more")
    check_gpus(gpus, "sampling.resources.gpus")
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    check_count(count, data.length)
    if chosen.sampling.searched:
        raise KinoflowError(f"--run {run}: its sampling is found by a search; name {chosen.weights!r} instead")
    if chosen.path is None and steps is not None:
        raise KinoflowError(f"--steps: run {run!r} is autoregressive, with one evaluation per token; leave it out")
    sampling = changed_sampling(chosen.sampling, count=count, steps=steps, guidance=guidance)
    model = load_network(weights, data, chosen.weights or run)
    device = torch.device("cuda" if gpus else "cpu")
    model.network.to(device)
    if not model.is_told_classes and (label is not None or sampling.guidance != 1):
        raise KinoflowError(f"--label, --guidance: the network of {run!r} is not told classes; leave them out")
    labels = labels_of(model, data, range(count))
    if label is not None:
        labels = torch.full((count,), class_number(label, data))
    kinds = torch.zeros(count, data.length, dtype=torch.int64)
    drawn = draw_around(model, data, sampling, kinds, None, derive_seed(seed, run, "images"), labels)
    images = Decoder.of(data, tokenizer, device).pictures(drawn)
    archive, grid = output / "images.zip", output / "grid.png"
    write_png_archive(archive, images)
    write_png(grid, shown_grid(images, labels if label is None else None, data.classes))
    settings = {"run": run, "label": label, "sampling": sampling.model_dump(mode="json")}
    inputs = [tokens, weights, *([tokenizer] if tokenizer else [])]
    write_provenance([archive, grid], settings, seed, inputs)
    print(f"{count} images: {archive}, {grid}")


def class_number(label: str, data: TokenData) -> int:
    """Return the number of a class that is given by its name or number."""
    names = [str(name) for name in data.record.get("classes", range(data.classes))]
    if label in names:
        return names.index(label)
    if label.isdecimal() and int(label) < data.classes:
        return int(label)
    raise KinoflowError(f"--label {label!r}: no such class; {did_you_mean(label, names[:50])}")
