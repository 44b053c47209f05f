"""What samples look like: texts to read, pictures, histograms of pairs of tokens, and crystals that can be turned."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from pipeline.config import REFERENCES, Experiment
from pipeline.errors import KinoflowError
from pipeline.sampling.samples import SampleSet
from pipeline.store.places import Place
from pipeline.tokens.token_data import TokenData

TEXTS = 30  # samples of a run
MOST_TOKENS = 64  # along a side of a histogram


def texts_of(results: Path, experiment: str, names: list[str]) -> dict[str, list[str]]:
    """Return the first texts of each run and reference that has some."""
    found = {}
    for name in names:
        file = Place.TEXTS.under(results, ".jsonl", experiment=experiment, name=name)
        if file.is_file():
            try:
                with file.open(encoding="utf-8") as stream:
                    found[name] = [str(json.loads(line)["text"]) for line in islice(stream, TEXTS)]
            except (ValueError, TypeError, KeyError) as error:
                raise KinoflowError(f"{file}: holds no texts ({error}); remove it, and make it again") from error
    return found


def pictures_of(results: Path, experiment: str, names: list[str], target: Path) -> list[dict[str, str]]:
    """Copy the pictures of an experiment that are there, and return the name, description and file of each."""
    known = {
        "figure": ("the figure of all runs", Place.FIGURE.under(results, experiment=experiment)),
        "paths": ("held-out images along each path", Place.PATHS_FIGURE.under(results, experiment=experiment)),
    }
    for file in sorted(results.glob(Place.CLAIM_FIGURES.value.format(experiment=experiment) + "*.png")):
        known[f"claim_{file.stem}"] = (f"claim about samplers: {file.stem.replace('_', ' ')}", file)
    for name in names:
        file = Place.PICTURES.under(results, ".png", experiment=experiment, name=name)
        known[name] = (f"samples of {REFERENCES.get(name, name)}", file)
    shown = []
    for name, (described, file) in known.items():
        if file.is_file():
            copy = target / "images" / experiment / f"{name}.png"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            shown.append({"name": name, "described": described, "file": copy.relative_to(target).as_posix()})
    return shown


def boards_of(results: Path, experiment: str, names: list[str], data: TokenData) -> dict[str, Any]:
    """Return histograms of samples of two tokens at the times that were kept; nothing for longer sequences."""
    size = data.vocabulary.size
    if data.length != 2 or size > MOST_TOKENS:
        return {}
    found: dict[str, Any] = {}
    for name in names:
        file = Place.SAMPLES.under(results, experiment=experiment, name=name)
        if file.is_file():
            samples = SampleSet.load(file)
            times, frames = (samples.times, samples.frames) if samples.times else ((1.0,), samples.tokens[None])
            counts = [torch.bincount(one[:, 1] * size + one[:, 0], minlength=size**2) for one in frames]
            found[name] = {
                "label": REFERENCES.get(name, name),
                "times": list(times),
                "shares": [[[round(float(v), 6) for v in row] for row in _shares(count, size)] for count in counts],
            }
    return found


def crystals_of(results: Path, experiment: str, block: Experiment, names: list[str]) -> list[dict[str, Any]]:
    """Return the crystals of each run and reference that can be shown, those of lowest energy first."""
    if block.crystals is None:
        return []
    from pipeline.crystals.gallery import gallery_of  # imports pandas and pymatgen

    shown = []
    for name in names:
        crystals = Place.CRYSTALS.under(results, ".parquet", experiment=experiment, name=name)
        structures = Place.STRUCTURES.under(results, ".parquet", experiment=experiment, name=name)
        places = (Place.RELAXED, Place.TRAJECTORIES)
        later = [structures, *(place.under(results, experiment=experiment, name=name) for place in places)]
        if crystals.is_file():
            known = (file if file.is_file() else None for file in later)
            shown += [{"run": REFERENCES.get(name, name)} | one for one in gallery_of(crystals, *known)]
    return shown


def _shares(count: torch.Tensor, size: int) -> torch.Tensor:
    return count.view(size, size).double() / count.sum()
