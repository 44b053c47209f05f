"""The rates at which tokens jump when a velocity moves them along a path."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from pipeline.flow.checks import first, forbid
from pipeline.flow.chunks import row_chunks
from pipeline.flow.distinct import distinct_rows
from pipeline.flow.elbo import general_elbo
from pipeline.flow.jumps import EVERYWHERE, Correction, Jump, RowJump, SharedJump, row_jump
from pipeline.flow.velocities import VELOCITIES, Velocity
from pipeline.flow.velocities.net_rates import advancing
from pipeline.flow.vocabulary import Places

if TYPE_CHECKING:
    from pipeline.flow.paths.base import Path  # paths name their closed forms, so this is the other way round


class Rates:
    """A velocity on a path. This class works with full rows of K rates; closed forms are faster subclasses.

    `net` and `jump` are per unit of the path's clock, `conditional`, `marginal` and `elbo` per unit of time.
    """

    def __init__(self, path: "Path", velocity: Velocity) -> None:
        self.path, self.velocity = path, velocity

    def net(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return the net rates out of z, [..., K]; all arguments have one shape [...]."""
        return self.velocity(self.path.state(x1, t), z, x1)

    def jump(self, x1: Tensor, z: Tensor, t: Tensor) -> Jump:
        """Return the jump out of z, all [N]; `t` is [N], or one time for all.

        It depends on nothing but these arguments, so a row that several tokens share is computed once.
        """
        shared, t = distinct_rows(x1, z, *((t,) if t.dim() else ())), t.expand(x1.shape)
        if shared is None:
            return row_jump(self.net(x1, z, t))
        places, which = shared
        return SharedJump(row_jump(self.net(x1[places], z[places], t[places])), which)

    def corrector_jump(self, x1: Tensor, z: Tensor, t: Tensor, correction: Correction) -> Jump:
        """Return a corrector's jump out of z at one time t, all others [N]; its rates are probabilities."""
        t = t.expand(x1.shape)
        if correction.weight is None:
            return Redraw(self.path, x1, t, correction.limit)
        places, which = distinct_rows(x1, z) or (slice(None), None)  # at one time a correction depends on x1 only
        net_rates = self.net(x1[places], z[places], t[places])
        prob = self.path.log_prob(x1[places], t[places]).exp()
        rows = RowJump(correction.at(places).rates(net_rates, prob))
        return rows if which is None else SharedJump(rows, which)

    def rate_bound(self, x1: Tensor, z: Tensor) -> Tensor | None:
        """Return a number [N] that the rate of `jump` does not exceed at any time, or None if none is cheap.

        A step computes rows of rates only for tokens that would leave at this rate.
        """
        return None

    def jump_size(self) -> int:
        """Return how many numbers `jump` holds for each token: K for rows of rates."""
        return self.path.vocabulary.size

    def corrector_size(self) -> int:
        """Return how many numbers `corrector_jump` holds for each token."""
        return self.path.vocabulary.size

    def conditional(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return u(x, z | x1) for all x != z, zero at x = z, [..., K]; all arguments have one shape [...]."""
        clock_rate = self.path.clock_rate(x1, t)
        infinite = ~clock_rate.isfinite()
        message = f"t: the rates of {type(self.path).__name__} are infinite at"
        forbid(infinite, f"{message} some t", lambda: f"{message} t = {first(t, infinite)}")
        return advancing(self.net(x1, z, t)) * clock_rate[..., None]

    def marginal(self, posterior: Tensor, z: Tensor, t: Tensor, budget: int | None = None) -> Tensor:
        """Return u(x, z) = sum over x1 of u(x, z | x1) p(x1 | z) for all x != z, zero at x = z (e:u_t_marginalization).

        `posterior` is [..., K], `z` and `t` are [...]. The sum costs O(K^2) a token. It runs in chunks of at most
        `budget` bytes and is differentiable in the posterior.
        """
        size, shape = posterior.shape[-1], z.shape
        posterior, z, t = posterior.reshape(-1, size), z.flatten(), t.flatten()
        candidates = (self.path.vocabulary.kind_of.on(z.device) >= 0).nonzero().squeeze(-1)
        totals = []
        for tokens in row_chunks(len(z), size, budget):
            total = torch.zeros(posterior[tokens].shape, dtype=torch.float64, device=z.device)
            for part in row_chunks(len(candidates), size * len(z[tokens]), budget):
                weights = posterior[tokens][:, candidates[part]].double()
                # Checkpointed: the gradient recomputes the rates of a chunk, so only one chunk is in memory at a time.
                total = total + checkpoint(
                    self._weighted, weights, candidates[part], z[tokens], t[tokens], use_reentrant=False
                )
            totals.append(total)
        return torch.cat(totals).view(*shape, size)

    def _weighted(self, weights: Tensor, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        """Return sum over x1 of weights [n, x1] times u(x, z | x1), [n, K]."""
        shape = weights.shape
        rates = self.conditional(x1.expand(shape), z[:, None].expand(shape), t[:, None].expand(shape))
        return torch.einsum("nc,nck->nk", weights, rates)

    def elbo(self, log_posterior: Tensor, x1: Tensor, t: Tensor, x_t: Tensor) -> Tensor:
        """Return the integrand of the likelihood bound, [...]; the logarithm of the posterior is [..., K]."""
        return general_elbo(self, log_posterior.exp(), x1, t, x_t)


class Redraw(Jump):
    """The jump to a token that is drawn anew from p_t(. | x1)."""

    def __init__(self, path: "Path", x1: Tensor, t: Tensor, rate: Tensor) -> None:
        self._path, self._x1, self._t, self.rate = path, x1, t, rate

    def destination(self, uniforms: Tensor, here: Places = EVERYWHERE) -> Tensor:
        return self._path.tokens_at(self._x1[here], self._t[here], uniforms)


ClosedForms = Mapping[str | None, type[Rates]]  # by the name of a velocity; None: for every other velocity


def rates_of(path: "Path", velocity: str | Velocity) -> Rates:
    """Return the rates of a velocity on a path: its closed form if the path has one, else full rows.

    A closed form serves the registered velocity only. The same function with options, or wrapped in another one, goes
    by rows.

    >>> path = build_path("uniform", Vocabulary.single(3))
    >>> rates = rates_of(path, "kinetic_optimal")
    >>> type(rates).__name__, type(rates_of(path, "power")).__name__
    ('MixtureRates', 'Rates')
    >>> x1, z, t = torch.tensor([2]), torch.tensor([0]), torch.tensor([0.5], dtype=torch.float64)
    >>> rates.conditional(x1, z, t)  # from 0 straight to 2
    tensor([[0.0000, 0.0000, 3.6911]], dtype=torch.float64)

    A path's class lists its closed forms, so your own path can have some too:

    >>> class MyRates(Rates):
    ...     def net(self, x1, z, t):
    ...         raise NotImplementedError("your formula here")
    >>> class MyPath(MixturePath):
    ...     closed_forms = {**MixturePath.closed_forms, "power": MyRates}
    """
    velocity = VELOCITIES.get(velocity) if isinstance(velocity, str) else velocity
    name = VELOCITIES.name_of(velocity)
    form = path.closed_forms.get(name) or path.closed_forms.get(None) or Rates
    return form(path, velocity)
