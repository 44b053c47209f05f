"""Problems of a configuration: from pydantic's errors to lines that name the key, the value and the fix."""

import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from pipeline.errors import KinoflowError, did_you_mean

M = TypeVar("M", bound=BaseModel)

_MEANING = {
    "missing": "is missing; add it",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "finite_number": "must be a finite number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "too_short": "needs at least {min_length} entry",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "string_pattern_mismatch": "must be a letter followed by letters, digits and underscores",
    "value_error": "{error}",
    "found": "{message}",
    "json_invalid": "a value holds a character that is not UTF-8; write it in UTF-8",
}

_NUMBER_OR_LIST = re.compile(r"float|json-or-python\[.*")  # what pydantic adds to the key of `float | Sequence[float]`


@dataclass(frozen=True)
class Problem:
    """One error: its key, its value, and how to fix it."""

    key: tuple[str, ...]
    value: Any
    message: str

    def __str__(self) -> str:
        shown = "" if self.value is None or isinstance(self.value, dict) else f" = {shortened(self.value)}"
        return f"{'.'.join(self.key)}{shown}: {self.message}" if self.key else f"{self.message}"


class ConfigError(KinoflowError):
    """Everything that is wrong with one configuration."""

    def __init__(self, origin: str, problems: Sequence[Problem]) -> None:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        super().__init__("\n".join([f"{origin}: {count}", *(f"  {problem}" for problem in problems)]))
        self.problems = tuple(problems)


def problems_of(
    model: type[M], raw: Any, at: tuple[str, ...] = (), context: Mapping[str, Any] | None = None
) -> tuple[M | None, list[Problem]]:
    """Return `raw` as a `model`, or None and what is wrong with it; the keys of problems begin with `at`."""
    try:
        # By way of JSON, where a list is a tuple and nothing else is converted.
        return model.model_validate_json(json.dumps(raw, default=str), context=context), []
    except ValidationError as error:
        problems = [_problem(model, details, at) for details in error.errors(include_url=False)]
        return None, list({str(problem): problem for problem in problems}.values())


def refuse(problems: Sequence[Problem]) -> None:
    """Raise an error with the problems that a validator found, if any; pydantic adds where they are."""
    lines: list[InitErrorDetails] = []
    for problem in problems:
        found = PydanticCustomError("found", "{message}", {"message": problem.message})
        lines.append({"type": found, "loc": problem.key, "input": problem.value})
    if lines:
        raise ValidationError.from_exception_data("configuration", lines)


def without_repetitions(problems: Sequence[Problem], added: Set[tuple[str, ...]] = frozenset()) -> list[Problem]:
    """Return each problem once: leave out what runs repeat of their experiment, and `added` runs of any other run."""
    known = set(map(str, problems))
    kept = [problem for problem in problems if str(_of_the_experiment(problem)) not in known]
    told = {_of_any_run(problem) for problem in kept if problem.key[:4] not in added}
    kept = [problem for problem in kept if problem.key[:4] not in added or _of_any_run(problem) not in told]
    return list({str(problem): problem for problem in kept}.values())


def _problem(model: type[BaseModel], details: Any, at: tuple[str, ...]) -> Problem:
    location = tuple(str(part) for part in details["loc"] if part != "[key]")
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    either = next((place for place, part in enumerate(location) if _NUMBER_OR_LIST.fullmatch(part)), None)
    if either is not None:  # pydantic says what is wrong with each alternative
        return Problem(at + location[:either], None, "must be a number, or a list of numbers")
    if kind == "extra_forbidden":
        message = f"unknown key; {did_you_mean(location[-1], _fields_at(model, location[:-1]))}"
    elif kind == "literal_error":
        allowed = [part.strip("'") for part in context["expected"].replace(" or ", ", ").split(", ")]
        message = f"not allowed; {did_you_mean(str(value), allowed)}"
    else:
        message = _MEANING.get(kind, details["msg"]).format(**context)
    return Problem(at + location, None if kind in ("missing", "value_error") else value, message)


def _fields_at(model: type[BaseModel], location: tuple[str, ...]) -> list[str]:
    """Return the keys that the part of the configuration at `location` knows."""
    current: Any = model
    for part in location:
        if _is_model(current) and part.isdigit():
            continue  # the place in a list of such models
        inner = current.model_fields[part].annotation if _is_model(current) else get_args(current)[-1]  # of a dict
        optional = get_origin(inner) is not dict and next(filter(_is_model, get_args(inner)), None)  # of `model | None`
        current = optional or inner
    return sorted(current.model_fields)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _of_the_experiment(problem: Problem) -> Problem | None:
    key = problem.key
    if len(key) > 4 and key[0] == "experiments" and key[2] == "runs":
        return Problem((*key[:2], *key[4:]), problem.value, problem.message)
    return None


def _of_any_run(problem: Problem) -> tuple[Any, ...]:
    return problem.key[:3], problem.key[4:], problem.message


def shortened(value: Any) -> str:
    """Return a value as JSON, cut off if it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
