"""There is a template for each kind of plugin, and each keeps the contract of its kind and works."""

import importlib.util
import math
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from ase import Atoms

from pipeline.config import plugins
from pipeline.config.contract import view
from pipeline.crystals.protocols import ProtocolEvidence
from pipeline.flow.vocabulary import Vocabulary
from pipeline.report.exhibit import Exhibit
from pipeline.sampling.samples import SampleSet
from pipeline.tokens.token_data import TokenData

EXAMPLES = Path(__file__).parents[1] / "examples"
KINDS = {
    "plugins/data_set": plugins.DATASETS,
    "plugins/metric": plugins.METRICS,
    "templates/network": plugins.MODELS,
    "templates/figure": plugins.FIGURES,
    "templates/corpus": plugins.CORPORA,
    "templates/image_set": plugins.IMAGE_SETS,
    "templates/features": plugins.FEATURES,
    "templates/energy_model": plugins.ENERGY_MODELS,
    "templates/judge": plugins.JUDGES,
    "templates/protocol": plugins.PROTOCOLS,
}
CPU = torch.device("cpu")


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.rpartition("/")[2], EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def plugin(name: str, **options: Any) -> tuple[Any, Any]:
    seen = view(module(name), KINDS[name].contract)
    return seen, seen.Options(**options)


def test_every_kind_has_one() -> None:
    known = {id(one) for one in vars(plugins).values() if isinstance(one, plugins.Plugins)}
    assert known == {id(one) for one in KINDS.values()}


@pytest.mark.parametrize("name", KINDS)
def test_it_keeps_its_contract_and_says_where_it_belongs(name: str) -> None:
    view(module(name), KINDS[name].contract)
    text = (EXAMPLES / f"{name}.py").read_text()
    said = re.search(r"Copy to\s+(pipeline/\w+/(\w+)/\w+\.py)", text)
    assert said is not None
    assert said[2] == KINDS[name].folder


def test_the_network_gives_logits() -> None:
    seen, options = plugin("templates/network")
    network = seen.build(options, Vocabulary.single(5), 3)
    assert network(torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2)).shape == (2, 3, 5)


def test_the_figure_is_drawn() -> None:
    seen, options = plugin("templates/figure")
    tokens = torch.randint(5, (20, 3), generator=torch.Generator().manual_seed(0))
    data = TokenData(tokens, tokens, tokens, vocabulary=Vocabulary.single(5), origin={"name": "rows"})
    figure = seen.draw([Exhibit(SampleSet(tokens, {"run": "metric"}))], data, options)
    assert figure.axes[0].get_title() == "metric"
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 60


def test_the_corpus_yields_lines_and_declares_its_file(tmp_path: Path) -> None:
    (tmp_path / "my.txt").write_text("one\n\ntwo\n")
    seen, options = plugin("templates/corpus", path=tmp_path / "my.txt")
    assert [document.text for document in seen.documents(options, tmp_path, "all")] == ["one", "two"]
    assert seen.inputs(options) == [tmp_path / "my.txt"]


def test_the_images_are_read_and_split(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "my.npz", images=images, classes=np.arange(40) % 2)
    seen, options = plugin("templates/image_set", path=tmp_path / "my.npz")
    assert {split: len(part) for split, part in seen.read(options, 0, tmp_path).images.items()} == {
        "train": 20,
        "validation": 10,
        "test": 10,
    }


def test_the_features_are_six_numbers(tmp_path: Path) -> None:
    seen, options = plugin("templates/features")
    extractor = seen.load(options, cache=tmp_path, classifier=None, device=CPU)
    features = extractor.features(torch.full((2, 4, 4, 3), 7, dtype=torch.uint8))
    assert features.tolist() == [[7, 7, 7, 0, 0, 0]] * 2


def test_the_energy_is_that_of_two_atoms() -> None:
    seen, options = plugin("templates/energy_model", epsilon=1.0, sigma=2.0)
    pair = Atoms("Ar2", positions=[[0, 0, 0], [0, 0, 2 * 2 ** (1 / 6)]], calculator=seen.load(options, "cpu"))
    assert pair.get_potential_energy() == pytest.approx(-1, abs=0.02)  # the minimum, but for the cut-off


def test_the_judge_finds_every_byte_equally_likely(tmp_path: Path) -> None:
    seen, options = plugin("templates/judge")
    judge = seen.load(options, cache=tmp_path, weights=None, data=None, device=CPU)
    nats, counts = judge.negative_log_likelihood(["four"])
    assert nats[0] == pytest.approx(3 * math.log(256))
    assert counts.tolist() == [3]


def test_the_protocol_counts() -> None:
    seen, _ = plugin("templates/protocol")
    rows = pd.DataFrame({"energy_above_hull": [0.01, 0.2, -0.1]})
    (rate,) = seen.rates(ProtocolEvidence(rows, [], None, "a hull", "a model"))
    assert (rate.hits, rate.total) == (2, 3)
    (rate,) = seen.rates(ProtocolEvidence(pd.DataFrame({"id": ["a"]}), [], None, "none", "a model"))
    assert rate.missing == "a hull"
