"""The scheme and the fitted grid of a run: its samples are drawn with them, and its tables say so."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pipeline.config import Config
from pipeline.config.loading import load_config, parse_setting
from pipeline.networks.saved import Description, new_network, save_network
from pipeline.sampling.samples import SampleSet
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare
from pipeline.stages.sample import sample
from pipeline.tokens.token_data import TokenData

Drawn = Callable[..., SampleSet]


@pytest.fixture
def draw(tiny_file: Callable[..., Path], tmp_path: Path) -> Drawn:
    """Return a function that draws the samples of a run on a mask path with the given settings of its sampling."""

    def configured(**sampling: str) -> Config:
        at = "experiments.checkerboard.runs.mask_linear.sampling"
        settings = [f"{at}.{key}={value}" for key, value in sampling.items()]
        return load_config(tiny_file(), map(parse_setting, settings))

    def drawn(**sampling: str) -> SampleSet:
        config, tokens, weights = configured(**sampling), tmp_path / "tokens", tmp_path / "weights"
        run = config.experiments["checkerboard"].runs["mask_linear"]
        prepare(Job(config, "checkerboard"), output=tokens)
        data = TokenData.load(tokens)
        torch.manual_seed(0)
        network = new_network(run.model, data)
        torch.nn.init.normal_(network.get_submodule("head").get_parameter("weight"))
        save_network(weights, network, Description.of("mask_linear", run, data))
        job = RunJob(config, "checkerboard", "mask_linear")
        sample(job, tokens=tokens, weights=weights, shard=0, shards=1, output=tmp_path / "samples")
        return SampleSet.load(tmp_path / "samples")

    return drawn


def test_a_scheme_draws_other_samples_and_the_tables_name_it(draw: Drawn) -> None:
    plain = draw(steps="6")
    assert plain.conditions["NFE"] == 6
    assert "scheme" not in plain.conditions
    for scheme, named, each in (
        ("{name: theta_trapezoidal, theta: 0.4}", "theta_trapezoidal (theta=0.4)", 2),
        ("confidence", "confidence", 1),
    ):
        other = draw(steps="6", scheme=scheme)
        assert other.conditions["scheme"] == named
        assert other.conditions["NFE"] == 6 * each
        assert other.conditions["evaluated"] == 6 * each
        assert other.tokens.shape == plain.tokens.shape
        assert not torch.equal(other.tokens, plain.tokens)


def test_a_fitted_grid_takes_its_numbers_from_the_configuration(draw: Drawn) -> None:
    uniform, even, late = (
        draw(steps="6", way="steps", grid=grid).tokens
        for grid in (
            "uniform",
            "{name: fitted, measured: [2.0, 2.0, 2.0]}",
            "{name: fitted, measured: [0.0, 0.0, 2.0]}",
        )
    )
    assert torch.equal(even, uniform)
    assert not torch.equal(late, uniform)
