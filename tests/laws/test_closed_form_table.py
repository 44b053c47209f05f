"""The table of closed forms: every entry gives what rows give, and only the registered velocity uses it."""

from functools import partial
from typing import ClassVar

import pytest
import torch
from rate_matrices import all_targets
from torch import Tensor

from pipeline.flow.closed_forms.mixture import MixtureRates
from pipeline.flow.errors import FlowError
from pipeline.flow.jumps import Correction
from pipeline.flow.paths import Path, build_path
from pipeline.flow.paths.mixture import MixturePath
from pipeline.flow.posterior import log_posterior
from pipeline.flow.rates import ClosedForms, Rates, rates_of
from pipeline.flow.sources import uniform
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.kinetic_optimal import kinetic_optimal
from pipeline.flow.vocabulary import Vocabulary

FIVE = Vocabulary.single(5)
UNIFORM = build_path("uniform", FIVE)


def case(path: Path) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x1, t, tokens x_t of the path, and the logarithm of a posterior that is possible given x_t."""
    generator = torch.Generator().manual_seed(0)
    x1, t = all_targets(path, [0.05, 0.3, 0.6, 0.8] * 3)
    x_t = path.sample(x1, t, generator)
    logits = torch.randn(*x1.shape, path.vocabulary.size, dtype=torch.float64, generator=generator)
    return x1, t, x_t, log_posterior(path, logits, x1, x_t)


def test_closed_forms_agree_with_rows(path: Path, velocity: Velocity) -> None:
    closed, rows = rates_of(path, velocity), Rates(path, velocity)
    x1, t, x_t, posterior = case(path)
    for ours, general in (
        (closed.net(x1, x_t, t), rows.net(x1, x_t, t)),
        (closed.conditional(x1, x_t, t), rows.conditional(x1, x_t, t)),
        (closed.jump(x1, x_t, t).rate, rows.jump(x1, x_t, t).rate),
        (closed.marginal(posterior.exp(), x_t, t), rows.marginal(posterior.exp(), x_t, t)),
        (closed.elbo(posterior, x1, t, x_t), rows.elbo(posterior, x1, t, x_t)),
    ):
        torch.testing.assert_close(ours, general, rtol=1e-7, atol=1e-9)


def test_closed_forms_of_correctors_agree_with_rows(path: Path, velocity: Velocity) -> None:
    closed, rows = rates_of(path, velocity), Rates(path, velocity)
    x1, _, x_t, _ = case(path)
    for time in (0.05, 0.3, 0.8):
        t = torch.full((), time, dtype=torch.float64)
        correction = Correction(*(torch.full(x1.shape, value).double() for value in (0.7, 0.9)))
        ours, general = (of.corrector_jump(x1, x_t, t, correction).rate for of in (closed, rows))
        torch.testing.assert_close(ours, general, rtol=1e-7, atol=1e-9)


def test_every_entry_names_a_registered_velocity_or_serves_all(path: Path) -> None:
    assert {velocity for velocity in path.closed_forms if velocity is not None} <= set(VELOCITIES.names())


def test_a_registered_velocity_finds_its_closed_form_by_name_and_by_function() -> None:
    for velocity in ("kinetic_optimal", kinetic_optimal, VELOCITIES.bind("kinetic_optimal")):
        assert type(rates_of(UNIFORM, velocity)) is MixtureRates


def test_options_and_functions_of_the_user_go_by_rows() -> None:
    def own(*arguments: Tensor) -> Tensor:
        return kinetic_optimal(*arguments)

    for velocity in (own, partial(kinetic_optimal), VELOCITIES.bind("power", alpha=1.0), "power"):
        assert type(rates_of(UNIFORM, velocity)) is Rates


def test_a_subclass_of_a_path_inherits_its_closed_forms_and_may_add_to_them() -> None:
    class OwnRates(Rates):
        """Rows under another name."""

    class OwnMixture(MixturePath):
        closed_forms: ClassVar[ClosedForms] = {**MixturePath.closed_forms, "campbell": OwnRates}

    class NoClosedForms(MixturePath):
        closed_forms: ClassVar[ClosedForms] = {None: OwnRates}

    own, without = (subclass(FIVE, uniform(FIVE), "linear") for subclass in (OwnMixture, NoClosedForms))
    assert [type(rates_of(own, name)) for name in ("kinetic_optimal", "campbell", "power")] == [
        MixtureRates,
        OwnRates,
        Rates,
    ]
    assert type(rates_of(without, "kinetic_optimal")) is OwnRates
    assert type(rates_of(UNIFORM, "campbell")) is Rates


def test_an_unknown_velocity_is_an_error() -> None:
    with pytest.raises(FlowError, match="did you mean 'campbell'"):
        rates_of(UNIFORM, "campell")
