"""The kinetic-optimal velocity of a mixture path: tokens go straight to x1."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.flow.jumps import EVERYWHERE, Correction, Jump
from pipeline.flow.mixture_bounds import mixture_elbo, token_rates
from pipeline.flow.rates import ClosedForms, Rates
from pipeline.flow.state import at
from pipeline.flow.vocabulary import Places

if TYPE_CHECKING:
    from pipeline.flow.paths.mixture import MixturePath


class MixtureRates(Rates):
    """Every token other than x1 jumps to x1 at rate 1; no row of rates is built."""

    path: "MixturePath"

    def net(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates: 1 from z to x1 (eq:neta_velocity_mixture), and the flux back.

        Only correctors use the flux back. It takes x1 to x at the rate -(1 - kappa) p(x) / p_t(x1).
        """
        source = self.path.source_prob.on(x1.device)[self.path.vocabulary.kinds_of(x1)]
        forth = torch.zeros_like(source).scatter(-1, x1[..., None], 1.0) * (at(source, z) > 0)
        prob_x1 = mass_at_x1(self.path, x1, t)
        rate = torch.exp(-self.path.clock(x1, t)) / prob_x1.clamp(min=torch.finfo(torch.float64).tiny) * (prob_x1 > 0)
        back = (-rate[..., None] * source).scatter(-1, x1[..., None], 0.0)
        return torch.where((z == x1)[..., None], back, forth)

    def jump(self, x1: Tensor, z: Tensor, t: Tensor) -> Jump:
        return MixtureJump(self.path, x1, z)

    def corrector_jump(self, x1: Tensor, z: Tensor, t: Tensor, correction: Correction) -> Jump:
        if correction.weight is None:
            return super().corrector_jump(x1, z, t, correction)
        return MixtureCorrection(self.path, x1, z, t, correction.weight, correction.limit)

    def jump_size(self) -> int:
        return 1

    def corrector_size(self) -> int:
        return 1

    def marginal(self, posterior: Tensor, z: Tensor, t: Tensor, budget: int | None = None) -> Tensor:
        """Return u(x, z) = lambda_t(x) p(x | z) for all x != z, zero at x = z, without a sum over x1 (eq:mixture_u)."""
        rates = token_rates(self.path, t) * posterior
        return rates.scatter(-1, z[..., None], 0.0)

    def elbo(self, log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
        return mixture_elbo(self.path, log_posterior, x1, t, x_t)


class MixtureJump(Jump):
    """The kinetic-optimal jump of a mixture: to x1 at rate 1."""

    def __init__(self, path: "MixturePath", x1: Tensor, z: Tensor) -> None:
        source = path.source_prob.on(x1.device)
        self._x1 = x1
        self.rate = ((z != x1) & (source[path.vocabulary.kinds_of(x1), z] > 0)).double()

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        return self._x1[here]


class MixtureCorrection(Jump):
    """The corrector's jump of a mixture, between x1 and the source.

    With Correction(W, L), a token goes to x1 with probability min(W, L p_t(x1)), and from x1 to x with probability
    (1 - kappa) p(x) min(W / p_t(x1), L).
    """

    def __init__(self, path: "MixturePath", x1: Tensor, z: Tensor, t: Tensor, weight: Tensor, limit: Tensor) -> None:
        self._path, self._x1, self._z, self._kinds = path, x1, z, path.vocabulary.kinds_of(x1)
        self._source_x1 = path.source_prob.on(x1.device)[self._kinds, x1]
        prob_x1 = mass_at_x1(path, x1, t)
        from_source = torch.exp(-path.clock(x1, t)) * (1 - self._source_x1)
        back = from_source * torch.minimum(weight / prob_x1.clamp(min=torch.finfo(torch.float64).tiny), limit)
        forth = MixtureJump(path, x1, z).rate * torch.minimum(weight, limit * prob_x1)
        self.rate = torch.where(z == x1, back * (prob_x1 > 0), forth)

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        x1, z, kinds, source_x1 = (part[here] for part in (self._x1, self._z, self._kinds, self._source_x1))
        running = self._path.source_running.on(uniforms.device)
        before = torch.where(x1 > 0, running[kinds, (x1 - 1).clamp(min=0)], 0.0)
        passed = uniforms * (1 - source_x1)  # a place in the source's mass, with the mass of x1 cut out
        passed = passed + torch.where(passed >= before, source_x1, 0.0)
        return torch.where(z == x1, self._path.draw_source(kinds, passed), x1)


def mass_at_x1(path: "MixturePath", x1: Tensor, t: Tensor) -> Tensor:
    """Return p_t(x1 | x1), accurate near t = 0."""
    clock = path.clock(x1, t)
    source_x1 = path.source_prob.on(x1.device)[path.vocabulary.kinds_of(x1), x1]
    return torch.exp(-clock) * source_x1 - torch.expm1(-clock)


CLOSED_FORMS: ClosedForms = {"kinetic_optimal": MixtureRates}
