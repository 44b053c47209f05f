"""The kinetic-optimal velocity."""

from torch import Tensor

from pipeline.flow.state import State, at
from pipeline.flow.velocities.net_rates import out_of
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("kinetic_optimal")
def kinetic_optimal(state: State, z: Tensor, x1: Tensor) -> Tensor:
    """Net rates for tau = p: the kinetic-optimal velocity, safe where p vanishes.

    n(x, z) = dp(x) - p(x) dlog p(z), the flux [p(z) dp(x) - dp(z) p(x)]_+ over p(z) (eq:Neta_flux).

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> VELOCITIES.get("kinetic_optimal")(state, z, x1)  # positive towards x1 only
    tensor([[ 0.6972,  0.1790,  0.0000, -0.0472]], dtype=torch.float64)
    """
    return out_of(z, state, state.prob_dot - state.prob * at(state.log_prob_dot, z))
