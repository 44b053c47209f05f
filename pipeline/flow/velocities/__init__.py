"""Velocities by name. A velocity moves probability along any path at the right speed.

A velocity is one function. It takes the State of a path and the tokens z and x1. It returns the net rates out of z to
every token x, n(x, z) = g(x, z) / p(z), [..., K], per unit of the path's clock. The flux g is antisymmetric and obeys
sum_z g(x, z) = dp(x)/ds. The positive part of n is the velocity and its absolute value the corrector: see `advancing`
and `preserving`.

To add a velocity, register one such function in a new file of this folder. Every path, sampler, bound and law test then
knows it, and no network has to be trained again:

>>> first, second = VELOCITIES.get("kinetic_optimal"), VELOCITIES.get("power_infinity")
>>> @VELOCITIES.register("halfway")
... def halfway(state, z, x1):  # the mean of two velocities is a velocity
...     return (first(state, z, x1) + second(state, z, x1)) / 2
>>> path, model = build_path("uniform", Vocabulary.single(2)), lambda x, t: torch.zeros(*x.shape, 2)
>>> sample(model, path, shape=(1, 4), velocity="halfway", generator=torch.Generator().manual_seed(0)).tokens
tensor([[1, 0, 1, 0]])
"""

import importlib
import pkgutil

from pipeline.flow.velocities.registry import VELOCITIES, Velocity

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["VELOCITIES", "Velocity"]
