"""Inception v3 (C. Szegedy et al., 2016) as the TorchScript file that most Fréchet distances are computed with.

It takes bytes in three channels, resizes them to 299 pixels itself and returns 2048 features.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from pipeline.config import Strict
from pipeline.images.feature_choice import FeatureError, fetched_file

if TYPE_CHECKING:  # for types only: functions import what they need when called
    import torch
    from torch import Tensor

    from pipeline.images.extractor import FeatureExtractor

FILE = "inception/inception-2015-12-05.pt"
_PROBE = 32  # pixels per side of the image that is tried first


class Options(Strict):
    """Where the network is."""

    path: str | None = Field(
        None, min_length=1, description="a TorchScript file of the user; null: the published one, which is fetched"
    )


def label(options: Options) -> str:
    """Return what the tables call the features."""
    return "Inception v3" if options.path is None else f"TorchScript {Path(options.path).name}"


def files(options: Options) -> list[str]:
    """Return the catalogue names of its files."""
    return [FILE] if options.path is None else []


def inputs(options: Options) -> list[Path]:
    """Return the user's file, if one is given."""
    return [] if options.path is None else [Path(options.path).expanduser()]


def load(options: Options, *, cache: Path, classifier: Path | None, device: torch.device) -> FeatureExtractor:
    """Return the network from the user's file, or from the published one in `cache`, which was checked when fetched."""
    import torch

    from pipeline.images.extractor import FeatureExtractor, in_colour

    path = _existing(options, cache)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript is deprecated, but the file needs it
            network = torch.jit.load(str(path), map_location=device).eval()
    except (RuntimeError, ValueError) as error:
        raise FeatureError("inception", f"{path}: no TorchScript file ({_reason(error)})") from error

    def embed(images: Tensor) -> Tensor:
        return network(in_colour(images).contiguous(), return_features=True)

    extractor = FeatureExtractor(embed, 0, device)
    try:
        probe = extractor.features(torch.zeros(1, _PROBE, _PROBE, 3, dtype=torch.uint8))
    except RuntimeError as error:  # TorchScript raises it for any fault
        called = "cannot be called as network(uint8[N, 3, H, W], return_features=True)"
        raise FeatureError("inception", f"{path}: {called} ({_reason(error)})") from error
    if probe.dim() != 2:
        raise FeatureError("inception", f"{path}: gives {list(probe.shape)}, not the features [N, F] of N images")
    return FeatureExtractor(embed, probe.shape[1], device)


def _existing(options: Options, cache: Path) -> Path:
    from pipeline.fetch.catalogue import CATALOGUE
    from pipeline.fetch.resource import MIRROR_VARIABLE

    if options.path is not None:
        path = Path(options.path).expanduser()
        if not path.is_file():
            raise FeatureError(f"{{name: inception, path: {options.path}}}", "no such file; give the path of one")
        return path
    addresses = " or ".join(CATALOGUE[FILE].addresses)
    by_hand = (
        f"; without a network, download {addresses} elsewhere and put it there, or as {FILE} into the directory "
        f"data.mirror (or {MIRROR_VARIABLE})"
    )
    return fetched_file("inception", cache, FILE, by_hand)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
