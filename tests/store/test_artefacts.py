"""Files that appear complete or not at all, and the record beside them."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from pipeline.store.atomic import replacing, write_json, write_text
from pipeline.store.provenance import known_hash, settings_hash, sidecar_of, write_provenance
from pipeline.store.seeds import derive_seed


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_text(target, "old")
    with pytest.raises(FileNotFoundError), replacing(target) as temporary:
        (temporary.parent / "no such folder" / "file").write_text("half")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_number_that_json_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "scores.json", {"loss": float("nan")})
    assert not list(tmp_path.iterdir())


def test_provenance_names_settings_seed_inputs_code_and_packages(tmp_path: Path) -> None:
    tokens, artefact = tmp_path / "tokens", tmp_path / "weights"
    tokens.write_bytes(b"tokens")
    artefact.write_bytes(b"weights")
    write_provenance([artefact], {"steps": 3}, 7, [tokens])
    record = json.loads(sidecar_of(artefact).read_text())
    assert record["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert record["inputs"] == {str(tokens): hashlib.sha256(b"tokens").hexdigest()}
    assert (record["settings"], record["seed"]) == ({"steps": 3}, 7)
    assert record["settings_sha256"] == settings_hash({"steps": 3})
    assert record["code"].startswith("0.")
    assert record["packages"]["torch"].startswith("2.")


def test_the_hash_of_an_input_is_read_from_its_provenance_unless_the_input_is_newer(tmp_path: Path) -> None:
    tokens, weights = tmp_path / "tokens", tmp_path / "weights"
    tokens.write_bytes(b"tokens")
    write_provenance([tokens], {}, 0, [])
    sidecar = sidecar_of(tokens)
    write_json(sidecar, json.loads(sidecar.read_text()) | {"sha256": "known"})
    assert known_hash(tokens) == "known"
    earlier = tokens.stat().st_mtime_ns - 1  # such as of another version, which was checked out
    os.utime(tokens, ns=(earlier, earlier))
    assert known_hash(tokens) == hashlib.sha256(b"tokens").hexdigest()
    weights.write_bytes(b"weights")
    assert known_hash(weights) == hashlib.sha256(b"weights").hexdigest()


def test_settings_have_one_hash_whatever_the_order_of_their_keys() -> None:
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1})
    assert settings_hash({"a": 1}) != settings_hash({"a": 2})


def test_derived_seeds_differ_by_every_name_and_by_the_seed() -> None:
    seeds = {derive_seed(seed, name, number) for seed in range(4) for name in ("a", "b") for number in range(50)}
    assert len(seeds) == 400
    assert derive_seed(0, "a", 1) == derive_seed(0, "a", 1)
    assert derive_seed(0, "a", 1) != derive_seed(0, "a1")
