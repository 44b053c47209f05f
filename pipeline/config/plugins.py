"""Files that extend the pipeline: every module of a folder that declares `Options` is found by its file's name.

A data set is a file in `pipeline/<modality>/datasets`, a network one in `pipeline/<modality>/networks`, and so on.
Nothing else has to be edited. `names` only reads the files, so that listing them is fast.
"""

import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import KinoflowError, did_you_mean

_DECLARES_OPTIONS = re.compile(r"^class Options\b", re.MULTILINE)


PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Plugins:
    """The modules that declare `Options` in the folders of one name, by name."""

    noun: str
    folder: str

    def names(self) -> list[str]:
        """Return the names in alphabetical order."""
        return sorted(self._modules())

    def module(self, name: str) -> str:
        """Return the name of the module."""
        return self._modules()[name]

    def _modules(self) -> dict[str, str]:
        return {
            file.stem: f"{PACKAGE.name}.{file.parents[1].name}.{self.folder}.{file.stem}"
            for file in PACKAGE.glob(f"*/{self.folder}/*.py")
            if _DECLARES_OPTIONS.search(file.read_text("utf-8"))
        }

    def load(self, name: str) -> Any:
        """Return the module."""
        if name not in self.names():
            raise KinoflowError(f"unknown {self.noun} {name!r}; {did_you_mean(name, self.names())}")
        return importlib.import_module(self.module(name))

    def options(self, name: str, values: dict[str, Any]) -> Any:
        """Return the module's options with `values`."""
        return self.load(name).Options.model_validate_json(json.dumps(values))  # JSON: a list is a tuple


DATASETS = Plugins("data set", "datasets")
CORPORA = Plugins("corpus", "corpora")
IMAGE_SETS = Plugins("set of images", "sources")
MODELS = Plugins("model", "networks")
JUDGES = Plugins("judge", "judges")
FEATURES = Plugins("features", "features")
METRICS = Plugins("metric", "metrics")
FIGURES = Plugins("figure", "figures")


def files_needed(module: Any, options: Any) -> list[str]:
    """Return the names in the catalogue of the files that a data set or a metric needs."""
    return list(module.files(options)) if hasattr(module, "files") else list(getattr(module, "FILES", ()))


def inputs_needed(module: Any, options: Any) -> list[Path]:
    """Return the files and folders of the user that a data set or a metric reads; one that is missing is among them."""
    return list(module.inputs(options)) if hasattr(module, "inputs") else []


def hub_needed(module: Any, options: Any) -> list[str]:
    """Return the names of what a data set or a metric reads from the Hugging Face Hub, not from a directory."""
    return list(module.hub_names(options)) if hasattr(module, "hub_names") else []
