"""Folders of weights whose checksums are right, as those of anyone who makes one, but whose content is not."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from world import World

from pipeline.cli import main
from pipeline.config.loading import _MARK
from pipeline.store.provenance import file_hash

Content = tuple[dict[str, torch.Tensor], dict[str, Any]]  # tensors, and what the file says about them
NETWORK, TOKENS = "network.safetensors", "tokens.safetensors"


@pytest.fixture(scope="session")
def exported(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "salts"
    about = ("--data", "d", "--licence", "MIT", "--limits", "none")
    assert world.run("export-weights", "--experiment", "materials", "--run", "metric", *about, "--output", folder) == 0
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "theirs"))


@pytest.fixture
def said(folder: Path, only_message: Callable[[int], str]) -> Callable[[], str]:
    """Return a function that generates with the folder, and returns the only message."""

    def of() -> str:
        made = folder.parent / "made"
        shown = only_message(
            main(["generate-crystals", "--weights", str(folder), "--count", "1", "--output", str(made)])
        )
        assert not made.exists()
        return shown

    return of


def sign(folder: Path, **values: Any) -> None:
    """Write the right checksums of all files of weights that are there, and some values, into the index."""
    index = json.loads((folder / "weights.json").read_text())
    files = {name: file_hash(folder / name) for name in index["files"] if (folder / name).is_file()}
    (folder / "weights.json").write_text(json.dumps(index | {"files": index["files"] | files} | values))


def change(file: Path, how: Callable[[dict[str, torch.Tensor], dict[str, Any]], Content]) -> None:
    """Write a file of tensors again with a change."""
    with safe_open(file, "pt") as opened:
        entry = json.loads(opened.metadata()["kinoflow"])
    tensors, described = how(load_file(file), entry["description"])
    save_file(tensors, file, {"kinoflow": json.dumps(entry | {"description": described})})


@pytest.mark.parametrize(
    "index, message",
    [
        ({"experiment": "nothing"}, "config.yaml has no run nothing/metric; get the folder again"),
        ({"run": "nothing"}, "config.yaml has no run materials/nothing; get the folder again"),
        ({"files": {"../../../etc/passwd": ""}}, "names '../../../etc/passwd', which is no file of weights"),
        ({"files": {}}, "has no checksum of config.yaml; do not trust this folder"),
    ],
    ids=["experiment", "run", "file elsewhere", "no checksums"],
)
def test_an_index_that_names_what_is_not_there_is_refused(
    folder: Path, said: Callable[[], str], index: Mapping[str, Any], message: str
) -> None:
    sign(folder, **index)
    assert message in said()


@pytest.mark.parametrize(
    "change_of, message",
    [
        (lambda tensors, said: (tensors | {"train": tensors["train"].int() + 10**6}, said), "is damaged (x1: "),
        (lambda tensors, said: (tensors | {"train": tensors["train"].flatten()}, said), "sequences of one length"),
        (lambda tensors, said: (tensors | {"kind_of": tensors["kind_of"] * 7}, said), "kinds must be numbered"),
        (lambda tensors, said: ({"train": tensors["train"]}, said), "lacks validation"),
        (lambda tensors, said: (tensors | {"distances": tensors["distances"].half()}, said), "numbers of type F16"),
        (lambda tensors, said: (tensors, {}), "tokens of another version of this project, or damaged"),
        (
            lambda tensors, said: (tensors, said | {"grid": [1]}),
            "tokens of another version of this project, or damaged",
        ),
        (lambda tensors, said: (tensors, []), "does not describe its tokens"),
        (lambda tensors, said: (tensors | {"train": tensors["train"] / 3}, said), "do not fit 878 tokens"),
        (lambda tensors, said: (tensors | {"distances": tensors["distances"][:5]}, said), "do not fit 878 tokens"),
        (lambda tensors, said: (tensors, said | {"origin": {"max_atoms": 10**9}}), "holds no tokens of crystals"),
    ],
    ids=[
        "range",
        "shape",
        "kinds",
        "missing",
        "type",
        "nothing said",
        "grid",
        "list",
        "fractions",
        "distances",
        "origin",
    ],
)
def test_tokens_that_are_none_are_refused_by_their_file(
    folder: Path, said: Callable[[], str], change_of: Callable[..., Content], message: str
) -> None:
    change(folder / TOKENS, change_of)
    sign(folder)
    shown = said()
    assert f"{folder / TOKENS}: " in shown
    assert message in shown


@pytest.mark.parametrize(
    "model, message",
    [
        ({"width": 10**8}, "its network needs"),
        ({"depth": 10**9}, "another version"),
        ({"name": "../../x"}, "another version"),
        ({"surprise": 1}, "another version"),
    ],
    ids=["width", "depth", "name", "option"],
)
def test_a_network_that_cannot_be_is_refused_by_its_file(
    folder: Path, said: Callable[[], str], model: Mapping[str, Any], message: str
) -> None:
    change(folder / NETWORK, lambda tensors, said: (tensors, said | {"model": said["model"] | model}))
    sign(folder)
    shown = said()
    assert f"{folder / NETWORK}: " in shown
    assert message in shown


def test_a_configuration_that_says_it_was_checked_is_checked(folder: Path, said: Callable[[], str]) -> None:
    """Anybody can write the mark of a checked configuration."""
    file = folder / "config.yaml"
    config = yaml.safe_load(file.read_text())
    config["experiments"]["materials"]["runs"]["metric"]["sampling"]["velocity"] = {"name": "power", "alpha": "much"}
    text = yaml.safe_dump(config, sort_keys=False)
    file.write_text(_MARK.format(hashlib.sha256(text.encode()).hexdigest()) + text)
    sign(folder)
    shown = said()
    assert f"{file}: " in shown
    assert "materials.runs.metric.sampling.velocity" in shown


def test_a_revision_that_is_a_path_is_refused(only_message: Callable[[int], str], tmp_path: Path) -> None:
    order = ["generate-crystals", "--weights", "hub:someone/salts@../../x", "--output", str(tmp_path / "made")]
    assert "'../../x' is no commit, tag or branch" in only_message(main(order))
