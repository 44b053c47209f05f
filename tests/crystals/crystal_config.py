"""A configuration of an experiment on crystals for the stages that need no training."""

from typing import Any

from pipeline.config import Config


def crystal_config(cache: str = "data/cache", **crystals: Any) -> Config:
    """Return a configuration whose experiment `crystals` has the given settings of crystals."""
    experiment = {
        "data": {"name": "matbench_dielectric"},
        "model": {"name": "mlp"},
        "scoring": {},
        "crystals": crystals,
        "runs": {"mask": {"path": {"name": "mask"}, "loss": "mixture_elbo", "model": {"name": "mlp"}}},
    }
    return Config.model_validate({"scale": "tiny", "data": {"cache": cache}, "experiments": {"crystals": experiment}})
