"""Kinds of GPUs and their published peaks, all for dense matrices."""

from dataclasses import dataclass
from typing import Literal

from pipeline.errors import KinoflowError, did_you_mean

Precision = Literal["32-true", "bf16-mixed"]


@dataclass(frozen=True)
class Gpu:
    """A kind of GPU: FLOP/s in float32 and, with tensor cores, in bfloat16 (None: it has none), and the source."""

    name: str
    float32: float
    bfloat16: float | None
    source: str

    def peak(self, precision: Precision) -> float:
        """Return the peak FLOP/s for a value of `training.precision`; without bfloat16, that of float32."""
        return self.bfloat16 or self.float32 if precision == "bf16-mixed" else self.float32


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("V100", 15.7e12, None, "NVIDIA's data sheet of the Tesla V100, SXM2"),
        Gpu("A100", 19.5e12, 312e12, "NVIDIA's data sheet of the A100, SXM4"),
        Gpu("H100", 66.9e12, 989.4e12, "NVIDIA's white paper on the H100, SXM5"),
    )
}


def gpu_named(name: str) -> Gpu:
    """Return the kind of GPU of this name."""
    if name not in GPUS:
        raise KinoflowError(f"--gpu {name}: unknown kind of GPU; {did_you_mean(name, list(GPUS))}")
    return GPUS[name]


def check_utilisation(share: float) -> None:
    """Raise unless the share of the peak that is reached lies in (0, 1]."""
    if not 0 < share <= 1:
        raise KinoflowError(f"--utilisation {share:g}: must lie above 0 and be at most 1, such as 0.35")
