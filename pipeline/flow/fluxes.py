"""Fluxes as matrices j[..., x, z]: the mass per unit of time that moves from state z to state x.

`velocities` computes them one row at a time. The matrices here are the reference, for small vocabularies.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.errors import FlowError

LARGEST_LAPLACIAN = 1024  # states; a K x K system is solved for every row

LaplacianConductance = Callable[[Tensor], Tensor]  # p [..., K] -> rho [..., K, K], symmetric, 0 where p is


def divergence(flux: Tensor) -> Tensor:
    """Return the outgoing minus the incoming flux of every state (eq:discrete_divergence).

    >>> divergence(torch.tensor([[0.0, 0.0], [0.3, 0.0]]))  # mass moves from state 0 to state 1
    tensor([ 0.3000, -0.3000])
    """
    off_diagonal = flux - torch.diag_embed(flux.diagonal(dim1=-2, dim2=-1))
    return off_diagonal.sum(-2) - off_diagonal.sum(-1)


def kinetic_energy(flux: Tensor, rho: Tensor) -> Tensor:
    """Return sum over x != z of j(x, z)^2 / rho(x, z), rho = p(z) / w(x, z) (e:kinetic_optimal_energy).

    It is infinite if mass moves where nothing conducts. Pairs without flux cost nothing.
    """
    return torch.where(flux == 0, 0.0, flux**2 / rho).sum((-2, -1))


def potential(rho: Tensor, prob_dot: Tensor) -> Tensor:
    """Return f with sum_z rho(x, z) (f(x) - f(z)) = dp(x) for every x (e:relaxation_lambda), up to a constant.

    The system is scaled to the normalised Laplacian, so states with almost no mass do not spoil its condition.
    """
    size = rho.shape[-1]
    if size > LARGEST_LAPLACIAN:
        raise FlowError(
            f"laplacian: {size} tokens need a {size} x {size} solve for every token; above {LARGEST_LAPLACIAN} use a "
            "closed form (kinetic_optimal, campbell, power, power_infinity)"
        )
    rho = rho - torch.diag_embed(rho.diagonal(dim1=-2, dim2=-1))
    degree = rho.sum(-1)
    conducts = degree > 0
    stranded = ~conducts & (prob_dot != 0)
    if bool(stranded.any()):
        raise FlowError("laplacian: the conductance isolates a state whose probability changes; no flux can exist")
    scale = torch.where(conducts, degree, 1.0).rsqrt()
    constant = torch.where(conducts, degree.sqrt(), 0.0)
    constant = constant / constant.norm(dim=-1, keepdim=True).clamp(min=1e-300)
    normalised = torch.eye(size, dtype=rho.dtype, device=rho.device) - scale[..., None] * rho * scale[..., None, :]
    system = normalised + constant[..., None] * constant[..., None, :]
    return scale * torch.linalg.solve(system, scale * prob_dot)


def local_conductance(prob: Tensor) -> Tensor:
    """Return rho(x, z) = p(x) p(z) / (1 + |x - z|): kinetic-optimal, but with a higher cost of long jumps."""
    number = torch.arange(prob.shape[-1], dtype=prob.dtype, device=prob.device)
    return prob[..., None] * prob[..., None, :] / (1 + (number[:, None] - number).abs())


def optimal_flux(rho: Tensor, prob_dot: Tensor) -> Tensor:
    """Return the flux rho(x, z) [f(x) - f(z)]_+ of least kinetic energy for a given path (e:optimal_j_given_p)."""
    f = potential(rho, prob_dot)
    return rho * (f[..., None] - f[..., None, :]).clamp(min=0)
