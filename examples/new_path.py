"""A new probability path in one function: tokens on a ring, where p_t is a bump around x1 that sharpens."""

import matplotlib.pyplot as plt
import torch

from pipeline.flow.paths.function import FunctionPath
from pipeline.flow.posterior import ExactPosterior
from pipeline.flow.sampler import sample
from pipeline.flow.vocabulary import Vocabulary


def log_prob(x1: torch.Tensor, t: torch.Tensor) -> torch.Tensor:  # [...], [...] -> [..., 24]
    angle = 2 * torch.pi * (torch.arange(24) - x1[..., None]) / 24
    return torch.log_softmax(4 * (t / (1 - t))[..., None] * (torch.cos(angle) + 0.5 * torch.cos(2 * angle)), dim=-1)


path = FunctionPath(Vocabulary.single(24), log_prob)  # its derivative, velocity and sampler are derived
data, q = torch.tensor([[3], [9], [17]]), torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
states: dict[float, torch.Tensor] = {}
model, generator = ExactPosterior(path, data, q), torch.Generator().manual_seed(0)
sample(model, path, shape=(20_000, 1), steps=120, generator=generator, on_step=lambda x, t: states.update({t: x}))
figure, axes = plt.subplots(1, 4, figsize=(12, 2.6), sharey=True, layout="constrained")
for axis, t in zip(axes, (0.0, 0.2, 0.5, 0.9), strict=True):
    exact = q @ path.log_prob(data[:, 0], torch.full((3,), t, dtype=torch.float64)).exp()
    seen = states[t].flatten().bincount(minlength=24) / 20_000
    axis.bar(range(24), seen, color="#b8c7db", label="samples")
    axis.plot(range(24), exact, ".-", color="#c0392b", label="$p_t$")
    axis.set(title=f"t = {t}: total variation {(seen - exact).abs().sum() / 2:.3f}", xlabel="token")
axes[0].legend()
figure.savefig("new_path.png", dpi=110)
