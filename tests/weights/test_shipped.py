"""The weights that come with the project can be used in a fresh clone, by the first commands of the README."""

import re
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.config.loading import load_config
from pipeline.crystals.peers import structural_valid_peers
from pipeline.crystals.table import crystals_of
from pipeline.store.parquet import read_table
from pipeline.weights.card import card, command_of
from pipeline.weights.finding import SHIPPED
from pipeline.weights.folder import CARD, CONFIG, Weights

NAMES = sorted(file.parent.name for file in SHIPPED.glob("*/weights.json"))


@pytest.mark.parametrize("name", NAMES)
def test_they_generate_without_anything_else(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = Weights.open(SHIPPED / name)
    config = load_config(found.file(CONFIG))
    command = command_of(config.experiments[found.index.experiment])
    steps = f"experiments.{found.index.experiment}.runs.{found.index.run}.sampling.steps=200"
    assert main([command, "--weights", name, "--count", "6", "--output", "made", "--set", steps]) == 0
    if command == "generate-crystals":
        made = [crystal for crystal in crystals_of(read_table(tmp_path / "made/crystals.parquet")) if crystal]
        assert sum(map(structural_valid_peers, made)) >= 4  # a network that knows nothing makes one or none of six


@pytest.mark.parametrize("name", NAMES)
def test_they_are_small_and_their_cards_say_what_was_measured(name: str) -> None:
    found = Weights.open(SHIPPED / name)
    assert sum(file.stat().st_size for file in found.folder.iterdir()) < 10_000_000
    config = load_config(found.file(CONFIG))
    assert (found.folder / CARD).read_text() == card(name, config.experiments[found.index.experiment], found.index)
    assert found.index.record["scores"] is not None


def test_the_first_command_of_the_readme_that_generates_needs_no_training() -> None:
    first = re.findall(r"pipeline generate-.*", (SHIPPED.parent / "README.md").read_text())[0]
    named = re.search(r"generate-crystals --weights (\S+) ", first)
    assert named is not None
    assert named[1] in NAMES
