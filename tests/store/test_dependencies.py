"""Which files a stage depends on."""

from pathlib import Path

import pytest

from pipeline.config import LossChoice, PathChoice, VelocityChoice
from pipeline.config.choices import SchemeChoice
from pipeline.flow.paths import PATHS
from pipeline.flow.registry import Registry
from pipeline.flow.schemes import SCHEMES
from pipeline.flow.velocities import VELOCITIES
from pipeline.stages import load_stages
from pipeline.store.code import PACKAGE, constant_of, files_of, modules_named

VELOCITY_NAMES = ["kinetic_optimal", "campbell", "power", "power_infinity", "laplacian"]
VELOCITY_FILES = {f"flow/velocities/{name}.py" for name in VELOCITY_NAMES}


def names(*modules: str) -> set[str]:
    return {str(file.relative_to(PACKAGE)) for file in files_of(*modules)}


def modules_of(registry: Registry) -> set[str]:
    """Return the modules of this package that register something; other tests register things of their own."""
    modules = {registry.get(name).__module__ for name in registry.names()}
    return {module for module in modules if module.startswith(f"{PACKAGE.name}.")}


def test_training_depends_on_losses_and_the_chosen_path_but_not_on_the_sampler_and_other_paths() -> None:
    path, loss = PathChoice(name="metric"), LossChoice(name="cross_entropy")
    training = names("pipeline.stages.train", "pipeline.known.networks.mlp", *modules_named(path, loss))
    assert {"flow/losses.py", "training/loop.py", "networks/time_features.py", "flow/paths/metric.py"} <= training
    assert not training & {"flow/sampler.py", "sampling/blocks.py", "scoring/subject.py", "report/tables.py"}
    assert not training & {"flow/paths/geodesic.py", "flow/likelihood.py"}


def test_training_depends_on_no_velocity_unless_its_loss_names_one() -> None:
    for name in PATHS.names():
        chosen = modules_named(PathChoice(name=name), LossChoice(name="cross_entropy"))
        training = names("pipeline.stages.train", "pipeline.known.networks.mlp", *chosen)
        assert not training & VELOCITY_FILES
    assert not names(*modules_named(PathChoice(name="mask", scheduler="kinetic_optimal"))) & VELOCITY_FILES
    named = names(*modules_named(PathChoice(name="metric"), LossChoice(name="general_elbo", velocity="campbell")))
    assert named & VELOCITY_FILES == {"flow/velocities/campbell.py"}


def test_no_path_sampler_or_loss_depends_on_a_velocity_by_itself() -> None:
    assert not names(*modules_of(PATHS), "pipeline.flow.sampler", "pipeline.flow.losses") & VELOCITY_FILES


@pytest.mark.parametrize("velocity", VELOCITY_NAMES)
def test_sampling_depends_on_its_own_velocity_and_on_no_other(velocity: str) -> None:
    named = modules_named(PathChoice(name="metric"), VelocityChoice(name=velocity))
    sampling = names("pipeline.stages.sample", *named)
    assert sampling & VELOCITY_FILES == {f"flow/velocities/{velocity}.py"}


def test_sampling_and_scoring_depend_on_the_closed_forms_of_the_chosen_path() -> None:
    metric, mask = modules_named(PathChoice(name="metric")), modules_named(PathChoice(name="mask"))
    for stage in ("pipeline.stages.sample", "pipeline.scoring.metrics.likelihood_bound"):
        assert {"flow/closed_forms/metric.py", "flow/sorted_jumps.py"} <= names(stage, *metric)
        assert "flow/closed_forms/mixture.py" in names(stage, *mask)
        assert not names(stage, *mask) & {"flow/closed_forms/metric.py", "flow/sorted_jumps.py"}


def test_the_likelihood_bound_depends_on_its_default_velocity() -> None:
    assert "flow/velocities/kinetic_optimal.py" in names("pipeline.scoring.metrics.likelihood_bound")


def test_paths_within_a_path_and_velocities_of_losses_are_chosen_too() -> None:
    paths = PathChoice(name="kindwise", paths=[{"name": "mask"}, {"name": "geodesic"}])
    loss = LossChoice(name="general_elbo", velocity="campbell")
    named = ("paths.geodesic", "paths.kindwise", "paths.mixture", "velocities.campbell")
    assert {f"pipeline.flow.{name}" for name in named} <= set(modules_named(paths, loss))
    assert "pipeline.flow.paths.metric" in modules_named(PathChoice(name="kindwise"))  # by its default
    assert "pipeline.flow.paths.metric" not in modules_named(PathChoice(name="mask", scheduler="linear"), loss)
    assert modules_named(None) == []


def test_every_path_velocity_and_scheme_is_found_by_its_name() -> None:
    for registry, choice in ((PATHS, PathChoice), (VELOCITIES, VelocityChoice), (SCHEMES, SchemeChoice)):
        modules = {name: registry.get(name).__module__ for name in registry.names()}
        for name, module in modules.items():
            if module.startswith(f"{PACKAGE.name}."):  # other tests register some of their own
                assert module in modules_named(choice(name=name))


def test_sampling_depends_on_its_own_scheme_and_training_on_none() -> None:
    plain, other = (
        names("pipeline.stages.sample", *modules_named(SchemeChoice(name=scheme)))
        for scheme in ("plain", "theta_trapezoidal")
    )
    assert other - plain == {"flow/schemes/theta_trapezoidal.py", "flow/token_likelihoods.py"}
    assert "flow/schemes/confidence.py" not in other
    training = names("pipeline.stages.train", "pipeline.known.networks.mlp", *modules_named(PathChoice(name="mask")))
    assert not {name for name in training if name.startswith("flow/schemes")}


def test_what_is_imported_for_type_checkers_only_is_no_dependency() -> None:
    assert "flow/likelihood.py" not in names("pipeline.networks.saved")


def test_sampling_depends_on_the_sampler_but_not_on_the_training_loop() -> None:
    sampling = names("pipeline.stages.sample")
    assert {"flow/sampler.py", "flow/steps.py", "sampling/blocks.py", "networks/saved.py"} <= sampling
    assert not sampling & {"training/loop.py", "scoring/subject.py"}


@pytest.mark.parametrize("stage", load_stages())
def test_no_stage_depends_on_the_code_of_another(stage: str) -> None:
    declared = {f"stages/{name}.py" for name in load_stages()}
    assert names(f"pipeline.stages.{stage}") & declared == {f"stages/{stage}.py"}


def test_what_the_rules_parameters_follow_is_no_dependency() -> None:
    assert not names("pipeline.stages.train") & {
        "config/experiments.py",
        "store/provenance.py",
        "config/plugins.py",
        "cli.py",
        "stages/__init__.py",
    }


def test_a_constant_is_read_without_importing_its_module(tmp_path: Path) -> None:
    assert constant_of("pipeline.tokens.token_data", "SPLITS", ()) == ("train", "validation", "test")
    assert constant_of("pipeline.known.datasets.checkerboard", "FILES", ()) == ()
