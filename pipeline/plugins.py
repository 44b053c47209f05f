"""Files that extend the pipeline: every module of a folder that declares `Options` is found by its file's name.

A data set is a file in `pipeline/data`, a network one in `pipeline/models`, and so on; nothing else has to be edited.
`names` reads the folder only, so that listing is fast and one file's heavy imports burden nobody else.
"""

import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.flow.errors import KinoflowError
from pipeline.flow.registry import did_you_mean

_DECLARES_OPTIONS = re.compile(r"^class Options\b", re.MULTILINE)


@dataclass(frozen=True)
class Plugins:
    """The modules of one package that declare `Options`, by name."""

    noun: str
    package: str

    def names(self) -> list[str]:
        """Return the names in alphabetical order."""
        folder = Path(__file__).parent.joinpath(*self.package.split(".")[1:])
        return sorted(file.stem for file in folder.glob("*.py") if _DECLARES_OPTIONS.search(file.read_text("utf-8")))

    def module(self, name: str) -> str:
        """Return the name of the module."""
        return f"{self.package}.{name}"

    def load(self, name: str) -> Any:
        """Return the module."""
        if name not in self.names():
            raise KinoflowError(f"unknown {self.noun} {name!r}; {did_you_mean(name, self.names())}")
        return importlib.import_module(self.module(name))

    def options(self, name: str, values: dict[str, Any]) -> Any:
        """Return the module's options with `values`."""
        return self.load(name).Options.model_validate_json(json.dumps(values))  # JSON: a list is a tuple


DATASETS = Plugins("data set", "pipeline.data")
CORPORA = Plugins("corpus", "pipeline.text.corpora")
IMAGE_SETS = Plugins("set of images", "pipeline.images.sources")
MODELS = Plugins("model", "pipeline.models")
JUDGES = Plugins("judge", "pipeline.text.judges")
FEATURES = Plugins("features", "pipeline.images.features")
METRICS = Plugins("metric", "pipeline.metrics")
FIGURES = Plugins("figure", "pipeline.report.figures")


def files_needed(module: Any, options: Any) -> list[str]:
    """Return the names in the catalogue of the files that a data set or a metric needs."""
    return list(module.files(options)) if hasattr(module, "files") else list(getattr(module, "FILES", ()))


def inputs_needed(module: Any, options: Any) -> list[Path]:
    """Return the files and folders of the user that a data set or a metric reads; one that is missing is among them."""
    return list(module.inputs(options)) if hasattr(module, "inputs") else []


def hub_needed(module: Any, options: Any) -> list[str]:
    """Return the names of what a data set or a metric reads from the Hugging Face Hub, not from a directory."""
    return list(module.hub_names(options)) if hasattr(module, "hub_names") else []
