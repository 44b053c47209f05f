"""The velocity of least kinetic energy for any symmetric weight, by solving for its potential."""

import torch
from torch import Tensor

from pipeline.flow.fluxes import LaplacianConductance, local_conductance, potential
from pipeline.flow.state import State, at
from pipeline.flow.velocities.net_rates import out_of
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("laplacian")
def laplacian(state: State, z: Tensor, x1: Tensor, *, conductance: LaplacianConductance = local_conductance) -> Tensor:
    """Net rates for any symmetric weight: n(x, z) = rho(x, z) (f(x) - f(z)) / p(z), rho(x, z) = p(z) / w(x, z).

    The potential f solves a K x K system for each row (see `potential`): for small vocabularies and for reference.

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> VELOCITIES.get("laplacian")(state, z, x1)  # neighbours get more than from kinetic_optimal
    tensor([[ 0.6480,  0.2816,  0.0000, -0.1006]], dtype=torch.float64)
    """
    prob = torch.where(state.support, state.prob.clamp(min=1e-200), 0.0)  # a state about to get mass still conducts
    rho = conductance(prob)
    f = potential(rho, state.prob_dot)
    rho_z = rho.gather(-1, z[..., None, None].expand(*rho.shape[:-1], 1)).squeeze(-1)
    return out_of(z, state, rho_z * (f - at(f, z)) / at(prob, z).clamp(min=1e-200))
