"""Weights for others: what the folder holds, what is done with it, and what is said about one that cannot be used."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Salts
from safetensors.torch import load_file

from pipeline.cli import main
from pipeline.config import Crystals, PathChoice
from pipeline.config.loading import load_config
from pipeline.crystals.compositions import training_compositions, training_sizes
from pipeline.crystals.evaluate import _references
from pipeline.crystals.tokens import decode
from pipeline.networks.saved import load_network
from pipeline.sampling.layouts import draw_layouts
from pipeline.store.parquet import read_table
from pipeline.store.provenance import file_hash
from pipeline.tokens.token_data import TokenData
from pipeline.weights import finding
from pipeline.weights.export import alone, without_data
from pipeline.weights.folder import Weights

Error = Callable[..., str]


@pytest.fixture
def copy(salts: Salts, tmp_path: Path) -> Path:
    """Return a copy of the folder that can be spoilt."""
    return Path(shutil.copytree(salts.exported, tmp_path / "copy"))


@pytest.fixture
def error_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Error:
    """Return a function that generates with weights, in a folder without configurations, and returns the error."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    def error(weights: str | Path, *arguments: str, command: str = "generate-crystals") -> str:
        assert main([command, "--weights", str(weights), "--count", "2", "--output", "made", *arguments]) == 2
        return capsys.readouterr().err

    return error


def changed(folder: Path, **values: Any) -> Path:
    """Change entries of the index of a folder."""
    index = json.loads((folder / "weights.json").read_text())
    (folder / "weights.json").write_text(json.dumps(index | values))
    return folder


def test_the_network_is_the_trained_one_in_16_bits(salts: Salts) -> None:
    stored = load_file(salts.exported / "network.safetensors")
    assert {values.dtype for values in stored.values()} == {torch.float16}
    ours, theirs = (
        load_network(file, TokenData.load(tokens), "mask_cubic").network
        for file, tokens in (
            (salts.weights, salts.tokens),
            (salts.exported / "network.safetensors", salts.exported / "tokens.safetensors"),
        )
    )
    for before, after in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert after.dtype == torch.float32
        assert torch.allclose(before, after, rtol=1e-3, atol=1e-6)


def test_what_generation_draws_from_the_training_set_is_there(salts: Salts) -> None:
    whole, few = TokenData.load(salts.tokens), TokenData.load(salts.exported / "tokens.safetensors")
    assert few.vocabulary_hash == whole.vocabulary_hash
    assert torch.equal(few.counts(), whole.counts())
    assert training_sizes(few) == training_sizes(whole)
    assert training_compositions(few) == training_compositions(whole)
    drawn = [draw_layouts(data, 20, torch.Generator().manual_seed(3)) for data in (whole, few)]
    assert torch.equal(*drawn)
    assert (len(few.validation), len(few.test)) == (1, 1)


@pytest.mark.parametrize("path, kept", [("mask", 0), ("metric", 1), ("mask mask", 0), ("mask metric", 1), ("", 0)])
def test_distances_are_kept_for_paths_that_go_by_them(salts: Salts, path: str, kept: int) -> None:
    parts: list[dict[str, Any]] = [{"name": name} for name in path.split()]
    several = [{"name": "kindwise", "paths": parts}] if len(parts) > 1 else parts
    chosen = PathChoice.model_validate(several[0]) if several else None
    assert (without_data(TokenData.load(salts.tokens), chosen).distances is not None) == kept


def test_a_name_and_a_path_generate_the_same_without_configuration_or_data(
    salts: Salts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding, "SHIPPED", salts.exported.parent)
    for weights, output in ((salts.exported.name, "by_name"), (str(salts.exported), "by_path")):
        assert main(["generate-crystals", "--weights", weights, "--count", "4", "--output", output]) == 0
    by_name, by_path = (read_table(tmp_path / output / "crystals.parquet") for output in ("by_name", "by_path"))
    assert len(by_name) == 4
    assert by_name.equals(by_path)


def test_an_order_and_settings_are_obeyed(salts: Salts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    key = "experiments.materials.runs.mask_cubic.sampling.steps"
    given = ["generate-crystals", "--weights", str(salts.exported), "--formula", "NaCl", "--count", "3"]
    assert main([*given, "--output", "made", "--set", f"{key}=2"]) == 0
    assert main([*given, "--output", "none", "--set", f"{key}=0"]) == 2
    assert {tuple(sorted(set(row))) for row in read_table(tmp_path / "made/crystals.parquet")["numbers"]} == {(11, 17)}


def test_the_card_says_what_was_given_and_measured(salts: Salts) -> None:
    card = (salts.exported / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: kinoflow\nlicense: cc-by-4.0\n---\n# our_salts\n")
    for said in ("Salts that were made up", "It knows cubes only", "generate-crystals --weights our_salts", "cubic"):
        assert said in card
    assert "| validity | 97.12 | [90, 99] |" in card
    assert "@inproceedings{shaul2025flow" in card


@pytest.mark.parametrize("name", ["network.safetensors", "tokens.safetensors", "config.yaml"])
def test_damaged_and_missing_files_are_noticed(copy: Path, error_of: Error, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[-1] ^= 1
    (copy / name).write_bytes(content)
    assert f"{name}: is damaged (SHA-256 {file_hash(copy / name)}, not" in error_of(copy)
    (copy / name).unlink()
    assert f"{name}: is missing; get the folder again" in error_of(copy)


def test_another_format_another_vocabulary_and_another_version_are_refused(
    copy: Path, salts: Salts, error_of: Error
) -> None:
    assert "weights of format 2; this version of Kinoflow reads format 1" in error_of(changed(copy, format=2))
    assert "another vocabulary than that of" in error_of(changed(copy, format=1, vocabulary="x"))
    tokens = TokenData.load(salts.tokens)
    (copy / "config.yaml").write_text("scale: tiny\nexperiments: {materials: {surprise: 1}}\n")
    files = Weights.open(salts.exported).index.files | {"config.yaml": file_hash(copy / "config.yaml")}
    changed(copy, vocabulary=tokens.vocabulary_hash, files=files)
    assert "they are of another version of Kinoflow" in error_of(copy)
    assert "is damaged" in error_of(changed(copy, files=3))


def test_what_does_not_fit_is_refused(salts: Salts, error_of: Error) -> None:
    assert "--run metric: --weights" in error_of(salts.exported, "--run", "metric")
    assert "they are for `generate-crystals`, not for `generate-text`" in error_of(
        salts.exported, command="generate-text"
    )


def test_an_unknown_name_gets_the_nearest(salts: Salts, error_of: Error, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "SHIPPED", salts.exported.parent)
    assert "did you mean 'our_salts'?" in error_of("our_salt")
    assert "no folder with weights.json" in error_of("some/where")


def test_weights_too_large_for_16_bits_are_not_exported(salts: Salts, tmp_path: Path) -> None:
    from pipeline.errors import KinoflowError
    from pipeline.weights.export import _check_range

    with pytest.raises(KinoflowError, match="too large for 16 bits"):
        _check_range(tmp_path, {"x": torch.tensor([1e5])})


def test_what_was_trained_on_is_not_new(salts: Salts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, seen = tmp_path / "out/training.parquet", dict[str, Any]()
    monkeypatch.setattr("pipeline.crystals.evaluate.evaluate", lambda *_, **given: seen.update(given))
    arguments = ["evaluate-crystals", "x", "--config", str(salts.file), "--weights", str(salts.exported)]
    assert main([*arguments, "--output", str(rows.parent)]) == 0
    assert seen["rows"] == rows
    train, test = _references(salts.config, Crystals(), rows, tmp_path)
    assert test is None
    assert train is not None
    known = TokenData.load(salts.tokens).train
    assert [crystal.composition for crystal in train] == [decode(row).crystal.composition for row in known.numpy()]
    assert main([*arguments, "--output", "out", "--rows", str(rows)]) == 2


def test_a_run_alone_keeps_no_metric_that_another_run_judges() -> None:
    text = load_config(Path(__file__).parents[2] / "config/demo.yaml").experiments["text"]
    assert list(alone(text, "mask_ko").scoring) == ["perplexity"]
    assert alone(text, "ar").scoring == text.scoring
