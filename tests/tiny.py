"""A configuration whose every stage takes a moment."""

from typing import Any

TINY: dict[str, Any] = {
    "scale": "tiny",
    "seed": 0,
    "experiments": {
        "checkerboard": {
            "data": {"name": "checkerboard", "levels": 8, "squares": 2, "train": 300, "validation": 40, "test": 120},
            "model": {"name": "mlp", "width": 16, "depth": 1, "dropout": 0.1},
            "training": {"steps": 20, "batch": 32, "checkpoint_every": 5, "validate_every": 10, "log_every": 4},
            "sampling": {"count": 110, "steps": 4, "block": 20, "shards": 2, "frames": [0, 0.5, 1]},
            "scoring": {"known_distribution": {}, "likelihood_bound": {"sequences": 20, "points": 4}},
            "figure": "boards",
            "runs": {
                "mask_linear": {"path": {"name": "mask", "scheduler": "linear"}, "loss": "mixture_elbo"},
                "metric": {"path": {"name": "metric", "lp": 2, "a": 1, "c": 3}, "loss": "cross_entropy"},
            },
        }
    },
}
