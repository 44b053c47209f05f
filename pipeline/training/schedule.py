"""The learning rate of each step."""

import math

from pipeline.config import Training


def learning_rate(training: Training, step: int) -> float:
    """Return the learning rate of a step: it rises linearly in the warm-up, then stays or falls towards zero.

    >>> decayed = Training(steps=100, learning_rate=1.0, warmup=20, decay="cosine")
    >>> [round(learning_rate(decayed, step), 3) for step in (0, 19, 20, 60, 99)]
    [0.05, 1.0, 1.0, 0.5, 0.0]
    """
    if step < training.warmup:
        return training.learning_rate * (step + 1) / training.warmup
    done = (step - training.warmup) / max(1, training.steps - training.warmup)
    return (
        training.learning_rate
        * {
            "none": 1.0,
            "linear": 1 - done,
            "cosine": (1 + math.cos(math.pi * done)) / 2,
        }[training.decay]
    )
