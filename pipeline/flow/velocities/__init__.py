"""Velocities that generate any given conditional path, as rows: the rates out of one state z to every state x.

Each function takes the State of a path, the tokens z and x1, and returns the net rates n(x, z) = g(x, z) / p(z) [...,
K] per unit of the path's clock, where g is an antisymmetric flux with sum_z g(x, z) = dp(x)/ds. Its positive part is
the flux of a velocity, its absolute value the flux of a corrector; `advancing` and `preserving` take them. To add a
velocity, write one such function in a file of this folder and register it: every path, sampler, bound and law test then
knows it, and no network is trained again.

All but the Laplacian solve are of rank one, g(x, z) = dp(x) s(z) - s(x) dp(z) with shares s = tau / sum(tau), and cost
O(K) a row.
"""

import importlib
import pkgutil
from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.checks import check_positive
from pipeline.flow.fluxes import LaplacianConductance, local_conductance, potential
from pipeline.flow.registry import Registry
from pipeline.flow.state import State, at

Velocity = Callable[[State, Tensor, Tensor], Tensor]  # (state, z, x1) -> net rates [..., K]

VELOCITIES: Registry = Registry("velocity")

LARGEST_LOG_RATE = 500.0


def advancing(net_rates: Tensor) -> Tensor:
    """Return the rates u(x, z) = [n(x, z)]_+ that move p_t forward; zero at x = z."""
    return net_rates.clamp(min=0)


def preserving(net_rates: Tensor) -> Tensor:
    """Return the corrector's rates |n(x, z)|, which leave p_t as it is (e:symmetric_flux); zero at x = z."""
    return net_rates.abs()


@VELOCITIES.register("kinetic_optimal")
def kinetic_optimal(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = p: the kinetic-optimal velocity, safe where p vanishes.

    n(x, z) = dp(x) - p(x) dlog p(z), the flux [p(z) dp(x) - dp(z) p(x)]_+ over p(z) (eq:Neta_flux).
    """
    return _out_of(z, state, state.prob_dot - state.prob * at(state.log_prob_dot, z))


@VELOCITIES.register("campbell")
def campbell(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = 1 on the support S.

    n(x, z) = (dp(x) - dp(z)) / (|S| p(z)) on S (eq:Campbell_flux, which prints |T| where its derivation has |S|).
    Not safe: the rate grows without bound as p(z) -> 0. Ratios dp(x) / p(z) are taken in logarithms, because late on a
    path both underflow.
    """
    support = state.support.double()
    share = support / support.sum(-1, keepdim=True)
    ratio = torch.exp((state.log_prob - at(state.log_prob, z)).clamp(max=LARGEST_LOG_RATE)) * state.log_prob_dot
    gained = torch.where(state.log_prob > -torch.inf, ratio, state.prob_dot * inverse_mass(state, z))
    return _out_of(z, state, at(share, z) * gained - share * at(state.log_prob_dot, z))


@VELOCITIES.register("power")
def power(state: State, z: Tensor, x1: Tensor, *, alpha: float = 2.0) -> Tensor:
    """Net rates for tau = p^alpha, from `kinetic_optimal` (1) to `power_infinity` (app:power_inf_velocity)."""
    check_positive(alpha, "alpha")
    log_share = torch.log_softmax(alpha * state.log_prob, dim=-1)
    return _rank_one(
        state, z, log_share.exp(), torch.exp((at(log_share, z) - at(state.log_prob, z)).clamp(max=LARGEST_LOG_RATE))
    )


@VELOCITIES.register("power_infinity")
def power_infinity(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = p^alpha, alpha -> infinity: all mass passes through the likeliest state (e:power_inf_flux).

    Ties go to x1, then to the lowest index; the likeliest state need not be x1.
    """
    likeliest = state.log_prob.max(-1).indices  # the lowest index of the maxima
    tied = at(state.log_prob, x1) == at(state.log_prob, likeliest)
    hub = torch.where(tied.squeeze(-1), x1, likeliest)
    share = torch.zeros_like(state.log_prob).scatter(-1, hub[..., None], 1.0)
    return _rank_one(state, z, share, at(share, z) * inverse_mass(state, z))


@VELOCITIES.register("laplacian")
def laplacian(state: State, z: Tensor, x1: Tensor, *, conductance: LaplacianConductance = local_conductance) -> Tensor:
    """Net rates for any symmetric weight: n(x, z) = rho(x, z) (f(x) - f(z)) / p(z), rho(x, z) = p(z) / w(x, z).

    The potential f solves a K x K system for each row (see `potential`): for small vocabularies and for reference.
    """
    prob = torch.where(state.support, state.prob.clamp(min=1e-200), 0.0)  # a state about to get mass still conducts
    rho = conductance(prob)
    f = potential(rho, state.prob_dot)
    rho_z = rho.gather(-1, z[..., None, None].expand(*rho.shape[:-1], 1)).squeeze(-1)
    return _out_of(z, state, rho_z * (f - at(f, z)) / at(prob, z).clamp(min=1e-200))


def _rank_one(state: State, z: Tensor, share: Tensor, share_per_mass_z: Tensor) -> Tensor:
    """Return dp(x) s(z) / p(z) - s(x) dp(z) / p(z), the net rates for tau of rank one (e:closed_form_rank_1)."""
    return _out_of(z, state, state.prob_dot * share_per_mass_z - share * at(state.log_prob_dot, z))


def inverse_mass(state: State, z: Tensor) -> Tensor:
    """Return 1 / p(z), cut where it would overflow: a rate beyond that makes a jump certain all the same."""
    return torch.exp(-at(state.log_prob, z).clamp(min=-LARGEST_LOG_RATE))


def _out_of(z: Tensor, state: State, net_rates: Tensor) -> Tensor:
    """Clear the rate from z to itself, and every rate out of a state without mass (e:velocity_from_flux)."""
    net_rates = net_rates.scatter(-1, z[..., None], 0.0)
    return torch.where(at(state.log_prob, z) > -torch.inf, net_rates, 0.0)


for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
