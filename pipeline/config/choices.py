"""Choices by name: what each part of the configuration can choose from, and how a choice is checked.

A choice in the configuration is checked only if the validation's context asks for it, because loading every
implementation takes seconds. A choice within the options of a plugin is always checked: the plugin is loaded by then.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from pipeline.config.problems import Problem, refuse, refused_in

if TYPE_CHECKING:  # sources load the configuration's plugins, and torch
    from pipeline.config.sources import Source

CHECKED = {"choices": True}  # the context of a validation that checks choices


def are_checked(info: ValidationInfo) -> bool:
    """Return whether choices are to be checked."""
    return bool((info.context or {}).get("choices"))


class Choice(BaseModel):
    """A named implementation and its options; `SOURCE` says where the implementations are."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    SOURCE: ClassVar[str] = ""

    name: str = Field(description="which implementation")

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given beside the name."""
        return dict(self.model_extra or {})

    @classmethod
    def source(cls) -> "Source":
        """Return what can be chosen."""
        from pipeline.config.sources import source_of

        return source_of(cls.SOURCE)

    @model_validator(mode="after")
    def _exists(self, info: ValidationInfo) -> Self:
        if self.SOURCE and are_checked(info):
            from pipeline.config.sources import problems_of_choice

            refuse(problems_of_choice(self.source(), self.name, self.options))
        return self


class NestedChoice(Choice):
    """A choice within the options of a plugin."""

    @model_validator(mode="after")
    def _exists(self) -> Self:
        from pipeline.config.sources import plugins_of

        plugins_of(self.SOURCE).chosen(self)
        return self


class DataChoice(Choice):
    """A data set: a file in `pipeline/<modality>/datasets`."""

    SOURCE = "pipeline.config.plugins.DATASETS"


class ModelChoice(Choice):
    """A network: a file in `pipeline/<modality>/networks`."""

    SOURCE = "pipeline.config.plugins.MODELS"


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


def _named(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Read a name alone as a choice without options; an unknown name is then reported at the key itself."""
    if not isinstance(value, str):
        return handler(value)
    try:
        return handler({"name": value})
    except ValidationError as error:
        refuse([Problem((), value, found.message) for found in refused_in(error) if found.key == ("name",)])
        raise


NameAlone = WrapValidator(_named)  # lets `loss: cross_entropy` stand for `loss: {name: cross_entropy}`
