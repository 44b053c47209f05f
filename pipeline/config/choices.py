"""Choices by name: what each part of the configuration can choose from, and how a choice is checked.

Names come from files that extend the pipeline (`Plugins`) and from the registries of the mathematics. A choice in the
configuration is checked only if the validation's context asks for it, because loading every implementation takes
seconds. A choice within the options of a plugin is always checked: the plugin is loaded by then.
"""

import inspect
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, get_args

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, WrapValidator, create_model, model_validator

from pipeline.config.base import Strict
from pipeline.config.plugins import METRICS, Plugins
from pipeline.config.problems import Problem, problems_of, refuse
from pipeline.errors import did_you_mean

if TYPE_CHECKING:  # torch takes seconds to import
    from pipeline.flow.registry import Registry

Source: TypeAlias = "Plugins[Any] | Registry[Any]"
CHECKED = {"choices": True}  # the context of a validation that checks choices
USUAL_SIDES = {"cifar10": 32, "imagenet": 256}  # pixels, of the images that results are published for
_PLAIN = (int, float, str, bool, type(None), Any)


def are_checked(info: ValidationInfo) -> bool:
    """Return whether choices are to be checked."""
    return bool((info.context or {}).get("choices"))


class Choice(BaseModel):
    """A named implementation and its options; `SOURCE` says where the implementations are."""

    model_config = {"frozen": True, "extra": "allow", "strict": True}
    SOURCE: ClassVar[str] = ""

    name: str = Field(description="which implementation")

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given beside the name."""
        return dict(self.model_extra or {})

    @classmethod
    def source(cls) -> Source:
        """Return what can be chosen."""
        return pkgutil.resolve_name(cls.SOURCE)

    @model_validator(mode="after")
    def _exists(self, info: ValidationInfo) -> Self:
        if self.SOURCE and are_checked(info):
            source = self.source()
            if self.name not in source.names():
                refuse([_unknown(source, self.name, "name")])
            refuse(problems_of(options_model(source, self.name), self.options)[1])
        return self


class NestedChoice(Choice):
    """A choice within the options of a plugin."""

    @model_validator(mode="after")
    def _exists(self) -> Self:
        plugins = self.source()
        assert isinstance(plugins, Plugins), f"{self.SOURCE} is a registry"
        plugins.chosen(self)
        return self


class DataChoice(Choice):
    """A data set: a file in `pipeline/<modality>/datasets`."""

    SOURCE = "pipeline.config.plugins.DATASETS"

    @property
    def subject(self) -> str:
        """What networks are trained on: the corpus, the set of images, or the data set itself."""
        chosen = self.options.get("corpus") or self.options.get("images") or self.name
        if not isinstance(chosen, dict):
            return str(chosen)
        name, size = chosen["name"], chosen.get("size")
        return f"{name} at {size} x {size}" if size and size != USUAL_SIDES.get(name, size) else str(name)


class ModelChoice(Choice):
    """A network: a file in `pipeline/<modality>/networks`."""

    SOURCE = "pipeline.config.plugins.MODELS"


class EnergyModelChoice(Choice):
    """An energy model: a file in `pipeline/crystals/energy_models`."""

    SOURCE = "pipeline.config.plugins.ENERGY_MODELS"


class FigureChoice(Choice):
    """A figure: a file in `pipeline/<modality>/figures`."""

    SOURCE = "pipeline.config.plugins.FIGURES"


class PathChoice(Choice):
    """A probability path and its options."""

    SOURCE = "pipeline.flow.paths.PATHS"


class LossChoice(Choice):
    """A training loss and its options."""

    SOURCE = "pipeline.flow.losses.LOSSES"


class VelocityChoice(Choice):
    """A velocity and its options."""

    SOURCE = "pipeline.flow.velocities.VELOCITIES"


class StepChoice(Choice):
    """A kind of sampling step."""

    SOURCE = "pipeline.flow.steps.STEPS"


class SchemeChoice(Choice):
    """How a step uses the network."""

    SOURCE = "pipeline.flow.schemes.SCHEMES"


class GridChoice(Choice):
    """A grid of times."""

    SOURCE = "pipeline.flow.grids.GRIDS"


class CorrectorChoice(Choice):
    """A kind of corrector."""

    SOURCE = "pipeline.flow.correctors.CORRECTORS"


def _named(value: Any, handler: Callable[[Any], Any]) -> Any:
    """Read a name alone as a choice without options; an unknown name is then reported at the key itself."""
    if not isinstance(value, str):
        return handler(value)
    try:
        return handler({"name": value})
    except ValidationError as error:
        found = [one for one in error.errors(include_url=False) if one["type"] == "found" and one["loc"] == ("name",)]
        refuse([Problem((), value, one["ctx"]["message"]) for one in found])
        raise


NameAlone = WrapValidator(_named)  # lets `loss: cross_entropy` stand for `loss: {name: cross_entropy}`


def problems_of_metrics(scoring: dict[str, dict[str, Any]]) -> list[Problem]:
    """Return what is wrong with the metrics; each is chosen by its key."""
    problems = []
    for metric, options in scoring.items():
        if "name" in options:
            named = "unknown key; a metric is chosen by its key under scoring"
            problems.append(Problem((metric, "name"), options["name"], named))
        if metric not in METRICS.names():
            problems.append(_unknown(METRICS, metric, metric))
            continue
        given = {key: value for key, value in options.items() if key != "name"}
        problems += problems_of(METRICS.load(metric).Options, given, (metric,))[1]
    return problems


def options_model(source: Source, name: str) -> type[BaseModel]:
    """Return the model of the options that the implementation `name` takes from a configuration."""
    if isinstance(source, Plugins):
        return source.load(name).Options
    fields: dict[str, Any] = {
        key: (parameter.annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for key, parameter in source.options(name).items()
        if _is_plain(parameter.annotation)
    }
    return create_model(name, __base__=Strict, **fields)


def _unknown(source: Source, name: str, key: str) -> Problem:
    return Problem((key,), name, f"unknown {source.noun}; {did_you_mean(name, source.names())}")


def _is_plain(annotation: Any) -> bool:
    """Return whether values of a type can be written in YAML, unlike a tensor."""
    inner = get_args(annotation)
    return all(map(_is_plain, inner)) if inner else any(annotation is plain for plain in _PLAIN)
