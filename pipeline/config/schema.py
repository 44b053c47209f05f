"""The JSON schema of the configuration, from the models and the implementations that can be chosen in them."""

from collections.abc import Iterator
from typing import Any

import yaml

from pipeline.config import Config
from pipeline.config.choices import Source, options_model
from pipeline.config.plugins import CORPORA, DATASETS, FEATURES, FIGURES, IMAGE_SETS, JUDGES, METRICS, MODELS
from pipeline.flow.losses import LOSSES
from pipeline.flow.paths import PATHS
from pipeline.flow.steps import STEPS
from pipeline.flow.velocities import VELOCITIES

CHOICES: dict[str, Source] = {
    "DataChoice": DATASETS,
    "ModelChoice": MODELS,
    "FigureChoice": FIGURES,
    "PathChoice": PATHS,
    "LossChoice": LOSSES,
    "VelocityChoice": VELOCITIES,
    "StepChoice": STEPS,
    "CorpusChoice": CORPORA,
    "JudgeChoice": JUDGES,
    "ImageChoice": IMAGE_SETS,
    "FeatureChoice": FEATURES,
}
# `loss: cross_entropy` will do
NAME_ALONE = tuple(choice for choice in CHOICES if choice not in ("DataChoice", "ModelChoice", "PathChoice"))
HEADER = "# Made by `make schema` from pipeline/config/experiments.py and the implementations; do not edit.\n"


def schema_text() -> str:
    """Return the schema as YAML."""
    return HEADER + yaml.safe_dump(config_schema(), sort_keys=True, width=120)


def config_schema() -> dict[str, Any]:
    """Return the schema, with the options of every implementation that can be chosen."""
    schema = Config.model_json_schema()
    definitions: dict[str, Any] = schema["$defs"]
    chosen = {
        choice: [_alternative(source, name, partial=choice == "ModelChoice") for name in source.names()]
        for choice, source in CHOICES.items()
    }
    metrics = {name: _options(METRICS, name) for name in METRICS.names()}
    for options in [*metrics.values(), *(option for alternatives in chosen.values() for option in alternatives)]:
        definitions |= options.pop("$defs", {})  # references are to the whole schema's
    for choice, alternatives in chosen.items():
        if choice in NAME_ALONE:
            alternatives.append({"enum": CHOICES[choice].names()})
        definitions[choice] = {"description": definitions[choice]["description"], "anyOf": alternatives}
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
    schema = _options(source, name)
    schema["properties"] = {"name": {"const": name}} | schema.get("properties", {})
    required = [*(() if partial else ("name",)), *schema.get("required", [])]
    return schema | {"required": required} if required else schema


def _options(source: Source, name: str) -> dict[str, Any]:
    return options_model(source, name).model_json_schema()


def _without_titles(tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if key == "title" and isinstance(value, str):
            continue
        if isinstance(value, dict):
            value = dict(_without_titles(value))
        elif isinstance(value, list):
            value = [dict(_without_titles(item)) if isinstance(item, dict) else item for item in value]
        yield key, value
