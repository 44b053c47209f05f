"""Files that extend the pipeline: every module in a plugin folder that declares `Options` is found by its file name.

A data set is a file in `pipeline/<modality>/datasets`, and so on. Names are listed fast, without loading any file.
"""

import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from pipeline.config import contracts
from pipeline.config.contract import PACKAGE, C, view
from pipeline.config.problems import problems_of
from pipeline.errors import KinoflowError, did_you_mean

if TYPE_CHECKING:  # choices know the plugins
    from pipeline.config.choices import Choice

_DECLARES_OPTIONS = re.compile(r"^class Options\b", re.MULTILINE)


class ChoiceError(KinoflowError, ValueError):
    """A plugin that does not exist or does not accept an option; pydantic reports it at the key that chose it."""


@dataclass(frozen=True)
class Chosen(Generic[C]):
    """A plugin that was chosen, with its options; `module` is its dotted name."""

    name: str
    plugin: C
    options: Any
    module: str

    @property
    def modules(self) -> list[str]:
        """Its own module, and those of the plugins that its options choose."""
        return [self.module, *self.plugin.modules(self.options)]

    @property
    def files(self) -> list[str]:
        """The files to fetch, by their names in the catalogue."""
        return list(self.plugin.files(self.options))

    @property
    def inputs(self) -> list[Path]:
        """The user's files and folders that are read, missing ones too."""
        return list(self.plugin.inputs(self.options))

    @property
    def hub_names(self) -> list[str]:
        """The names of what is read from the Hugging Face Hub."""
        return list(self.plugin.hub_names(self.options))


@dataclass(frozen=True)
class Plugins(Generic[C]):
    """The modules that declare `Options` in all folders called `folder`, by name, seen through their contract."""

    noun: str
    folder: str
    contract: type[C]

    def names(self) -> list[str]:
        """Return the names in alphabetical order."""
        return sorted(self._modules())

    def module(self, name: str) -> str:
        """Return the dotted name of a plugin's module."""
        found = self._modules(name) if name.isidentifier() else {}
        if name not in found:
            raise ChoiceError(f"unknown {self.noun} {name!r}; {did_you_mean(name, self.names())}")
        return found[name]

    def load(self, name: str) -> C:
        """Return a plugin."""
        return view(importlib.import_module(self.module(name)), self.contract)

    def options(self, name: str, values: dict[str, Any]) -> Any:
        """Return the options of a plugin with `values`."""
        return self.load(name).Options.model_validate_json(json.dumps(values))  # JSON: a list is a tuple

    def chosen(self, choice: "Choice") -> Chosen[C]:
        """Return the plugin that was chosen, with its options."""
        plugin = self.load(choice.name)
        options, problems = problems_of(plugin.Options, choice.options, (choice.name,))
        if problems:
            raise ChoiceError("; ".join(map(str, problems)))
        return Chosen(choice.name, plugin, options, self.module(choice.name))

    def _modules(self, pattern: str = "*") -> dict[str, str]:
        return {
            file.stem: f"{PACKAGE.name}.{file.parents[1].name}.{self.folder}.{file.stem}"
            for file in PACKAGE.glob(f"*/{self.folder}/{pattern}.py")
            if _DECLARES_OPTIONS.search(file.read_text("utf-8"))
        }


DATASETS = Plugins("data set", "datasets", contracts.DataSetPlugin)
CORPORA = Plugins("corpus", "corpora", contracts.CorpusPlugin)
IMAGE_SETS = Plugins("set of images", "sources", contracts.ImageSetPlugin)
MODELS = Plugins("model", "networks", contracts.NetworkPlugin)
ENERGY_MODELS = Plugins("energy model", "energy_models", contracts.EnergyModelPlugin)
JUDGES = Plugins("judge", "judges", contracts.JudgePlugin)
FEATURES = Plugins("features", "features", contracts.FeaturesPlugin)
METRICS = Plugins("metric", "metrics", contracts.MetricPlugin)
PROTOCOLS = Plugins("protocol", "protocols", contracts.ProtocolPlugin)
FIGURES = Plugins("figure", "figures", contracts.FigurePlugin)
