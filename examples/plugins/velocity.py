"""A velocity: the mean of two others is a velocity. Copy to pipeline/flow/velocities/halfway.py.

In the configuration: `sampling: {velocity: {name: halfway, share: 0.3}}`.
"""

from torch import Tensor

from pipeline.flow.state import State
from pipeline.flow.velocities.registry import VELOCITIES


@VELOCITIES.register("halfway")
def halfway(state: State, z: Tensor, x1: Tensor, *, share: float = 0.5) -> Tensor:
    """Net rates between the kinetic-optimal velocity (share 0) and power infinity (share 1).

    >>> path, x1, z = build_path("metric", Vocabulary.single(4), lp=1), torch.tensor([0]), torch.tensor([2])
    >>> state = path.state(x1, torch.tensor([0.5], dtype=torch.float64))
    >>> bool((VELOCITIES.bind("halfway", share=0.0)(state, z, x1) ==
    ...       VELOCITIES.get("kinetic_optimal")(state, z, x1)).all())
    True
    """
    first, second = VELOCITIES.get("kinetic_optimal"), VELOCITIES.get("power_infinity")
    return (1 - share) * first(state, z, x1) + share * second(state, z, x1)
