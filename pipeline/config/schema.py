"""The JSON schema of the configuration, made from its models and from everything that can be chosen by name."""

from typing import Any

import yaml

from pipeline.config.choices import Choice, DataChoice, ModelChoice, NestedChoice, PathChoice, options_model
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
            chosen[choice] = [_alternative(choice, name) for name in choice.source().names()]
    for options in [*metrics.values(), *(option for alternatives in chosen.values() for option in alternatives)]:
        definitions |= options.pop("$defs", {})  # references point into the whole schema
    for choice, alternatives in chosen.items():
        if choice not in (DataChoice, ModelChoice, PathChoice):  # `loss: cross_entropy` will do
            alternatives.append({"enum": choice.source().names()})
        description = definitions[choice.__name__]["description"]
        definitions[choice.__name__] = {"description": description, "anyOf": alternatives}
    tokenizer = definitions["TokenizerChoice"]
    definitions["TokenizerChoice"] = {"anyOf": [tokenizer, {"enum": tokenizer["properties"]["name"]["enum"]}]}
    experiment = definitions["Experiment"]["properties"]
    description, sweeps = experiment["scoring"]["description"], experiment["sweep"]
    scoring = {"type": "object", "properties": metrics, "additionalProperties": False}
    experiment["scoring"] = scoring | {"description": description}
    experiment["sweep"] = {"description": sweeps.pop("description"), "anyOf": [sweeps, sweeps["items"]]}
    definitions["Run"]["required"] = ["path"]  # the rest comes from the experiment
    return _without_titles(schema)


def _alternative(choice: type[Choice], name: str) -> dict[str, Any]:
    schema = options_model(choice.source(), name).model_json_schema()
    schema["properties"] = {"name": {"const": name}} | schema.get("properties", {})
    required = [*(() if choice is ModelChoice else ("name",)), *schema.get("required", [])]
    return schema | {"required": required} if required else schema


def _without_titles(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_without_titles(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    titled = isinstance(tree.get("title"), str)  # else it is a key of the configuration
    return {key: _without_titles(value) for key, value in tree.items() if key != "title" or not titled}
