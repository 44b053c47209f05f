"""The JSON schema of the configuration, made from its models and from everything that can be chosen by name."""

from collections.abc import Iterator
from typing import Any

import yaml

from pipeline.config.choices import Choice, DataChoice, ModelChoice, NestedChoice, PathChoice, Source, options_model
from pipeline.config.experiments import Config
from pipeline.config.plugins import METRICS

HEADER = "# Made by `make schema` from pipeline/config/experiments.py and the implementations; do not edit.\n"


def schema_text() -> str:
    """Return the schema as YAML."""
    return HEADER + yaml.safe_dump(config_schema(), sort_keys=True, width=120)


def config_schema() -> dict[str, Any]:
    """Return the schema, with the options of every implementation that can be chosen."""
    schema = Config.model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    metrics = {name: options_model(METRICS, name).model_json_schema() for name in METRICS.names()}
    chosen: dict[type[Choice], list[dict[str, Any]]] = {}
    for kind in (Choice, NestedChoice):  # first the plugins, then what their options choose
        for choice in [choice for choice in kind.__subclasses__() if choice.SOURCE]:
            source, partial = choice.source(), choice is ModelChoice
            chosen[choice] = [_alternative(source, name, partial) for name in source.names()]
    for options in [*metrics.values(), *(option for alternatives in chosen.values() for option in alternatives)]:
        definitions |= options.pop("$defs", {})  # references point into the whole schema
    for choice, alternatives in chosen.items():
        if choice not in (DataChoice, ModelChoice, PathChoice):  # `loss: cross_entropy` will do
            alternatives.append({"enum": choice.source().names()})
        description = definitions[choice.__name__]["description"]
        definitions[choice.__name__] = {"description": description, "anyOf": alternatives}
    tokenizer = definitions["TokenizerChoice"]
    definitions["TokenizerChoice"] = {"anyOf": [tokenizer, {"enum": tokenizer["properties"]["name"]["enum"]}]}
    scoring = definitions["Experiment"]["properties"]["scoring"]
    definitions["Experiment"]["properties"]["scoring"] = {
        "description": scoring["description"],
        "type": "object",
        "properties": metrics,
        "additionalProperties": False,
    }
    sweeps = definitions["Experiment"]["properties"]["sweep"]
    definitions["Experiment"]["properties"]["sweep"] = {
        "description": sweeps["description"],
        "anyOf": [{key: value for key, value in sweeps.items() if key != "description"}, sweeps["items"]],
    }
    definitions["Run"]["required"] = ["path"]  # the rest comes from the experiment
    return dict(_without_titles(schema))


def _alternative(source: Source, name: str, partial: bool) -> dict[str, Any]:
    schema = options_model(source, name).model_json_schema()
    schema["properties"] = {"name": {"const": name}} | schema.get("properties", {})
    required = [*(() if partial else ("name",)), *schema.get("required", [])]
    return schema | {"required": required} if required else schema


def _without_titles(tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if key == "title" and isinstance(value, str):
            continue
        if isinstance(value, dict):
            value = dict(_without_titles(value))
        elif isinstance(value, list):
            value = [dict(_without_titles(item)) if isinstance(item, dict) else item for item in value]
        yield key, value
