"""The paper's mathematics: paths, velocities, steps, losses and likelihood bounds.

Conventions, fixed once for every module of this package:

- tokens ``x, z, x1: int64[...]`` (usually ``[B, D]``), time ``t`` in ``[0, 1]`` with data at ``t = 1``, logits ``[...,
  K]``;
- ``u(x, z)`` is the rate of the jump from ``z`` to ``x``: the last axis of every row of rates is ``x``, and the rates
  out of one state, its own included, sum to zero;
- probabilities, derivatives and categorical draws are float64, whatever the precision of the network;
- a path is followed by its own clock ``s(t)`` (see :mod:`pipeline.flow.paths.base`): derivatives and rates are taken
  with respect to ``s``, so that none is infinite where ``ds/dt`` is;
- one vocabulary serves every position. Tokens are partitioned into kinds; a position has one kind, and so the token
  ``x1`` at a position already says which conditional path is followed there (see :mod:`pipeline.flow.vocabulary`).

This package imports nothing else of ours.
"""
