"""The commands that show and compare runs."""

import pytest
from small_results import SmallResults

from pipeline.cli import main


def test_show_has_settings_loss_figures_and_files(small: SmallResults, capsys: pytest.CaptureFixture[str]) -> None:
    small.run("show", "checkerboard/metric")
    printed = capsys.readouterr().out
    assert printed.startswith("checkerboard/metric: scored\n")
    for part in ("path: {name: metric, ", "loss by step", "| total variation ", "metric.safetensors"):
        assert part in printed, part
    assert "\x1b" not in printed, "it can be piped"
    small.run("show", "checkerboard/mask_linear")
    assert "not trained yet" in capsys.readouterr().out


def test_compare_has_the_settings_that_differ(small: SmallResults, capsys: pytest.CaptureFixture[str]) -> None:
    small.run("compare", "checkerboard/metric", "mask_linear")
    printed = capsys.readouterr().out
    assert "| path.name " in printed
    assert "training.batch" not in printed
    assert "no figures in common" in printed
    small.run("compare", "checkerboard/metric", "checkerboard/metric")
    printed = capsys.readouterr().out
    assert "The settings are the same" in printed
    assert "| total variation " in printed


def test_an_unknown_or_ambiguous_run_is_explained(small: SmallResults, capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in (("metrik", "did you mean"), ("metric", "name one of checkerboard/metric, materials/metric")):
        assert main(["show", "--config", str(small.config), name]) == 2
        assert said in capsys.readouterr().err
