"""Which files a stage depends on."""

from pathlib import Path

from pipeline.dependencies import PACKAGE, constant_of, files_of


def names(*modules: str) -> set[str]:
    return {str(file.relative_to(PACKAGE)) for file in files_of(*modules)}


def test_training_depends_on_losses_and_every_path_but_not_on_the_sampler() -> None:
    training = names("pipeline.training.train", "pipeline.models.mlp")
    paths = {f"flow/paths/{file.name}" for file in (PACKAGE / "flow/paths").glob("*.py")}
    assert paths | {"flow/losses.py", "training/loop.py", "models/time_features.py"} <= training
    assert not training & {"flow/sampler.py", "sampling/blocks.py", "metrics/score.py", "report/tables.py"}


def test_sampling_depends_on_the_sampler_but_not_on_the_training_loop() -> None:
    sampling = names("pipeline.sampling.generate")
    assert {"flow/sampler.py", "flow/steps.py", "sampling/blocks.py", "models/saved.py"} <= sampling
    assert not sampling & {"training/loop.py", "metrics/score.py"}


def test_what_the_rules_parameters_follow_is_no_dependency() -> None:
    assert not names("pipeline.training.train") & {"config.py", "provenance.py", "plugins.py", "cli.py"}


def test_a_constant_is_read_without_importing_its_module(tmp_path: Path) -> None:
    assert constant_of("pipeline.data.tokens", "SPLITS", ()) == ("train", "validation", "test")
    assert constant_of("pipeline.data.checkerboard", "FILES", ()) == ()
