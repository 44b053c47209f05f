"""Samples in blocks of a fixed size, each with a seed of its own: the same samples for any number of shards."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pipeline.config import Sampling
from pipeline.flow.errors import KinoflowError
from pipeline.flow.paths.base import Path
from pipeline.flow.sampler import sample
from pipeline.flow.steps import Corrector
from pipeline.flow.velocities import VELOCITIES
from pipeline.progress import Progress
from pipeline.seeds import derive_seed


def blocks_of(count: int, block: int, shard: int, shards: int) -> range:
    """Return the numbers of the blocks that shard 0, 1, ..., shards - 1 draws: consecutive, and as even as possible."""
    if not 0 <= shard < shards:
        raise KinoflowError(f"shard {shard} of {shards}: shards are numbered 0 to {shards - 1}")
    blocks = -(-count // block)
    return range(blocks * shard // shards, blocks * (shard + 1) // shards)


def draw_blocks(
    network: nn.Module, path: Path, length: int, sampling: Sampling, seed: int, blocks: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Draw the given blocks; return the tokens [N, D], and the tokens at the times of sampling.frames [F, N, D].

    The tables say that a sample took sampling.steps evaluations of the network; that is counted here.
    """
    device = next(network.parameters()).device
    tokens, frames = [torch.empty(0, length, dtype=torch.int64)], [torch.empty(len(sampling.frames), 0, length)]
    with Progress("sampling", len(blocks) * sampling.steps) as progress:
        for position, block in enumerate(blocks):
            size = min(sampling.block, sampling.count - block * sampling.block)
            generator = torch.Generator().manual_seed(derive_seed(seed, "block", block))
            recorder = FrameRecorder(sampling.frames)
            drawn = sample(
                network,
                path,
                kinds=torch.zeros(size, length, dtype=torch.int64, device=device),
                steps=sampling.steps,
                velocity=VELOCITIES.bind(sampling.velocity.name, **sampling.velocity.options),
                step=sampling.step.name,
                temperature=sampling.temperature,
                corrector=Corrector(**sampling.corrector.model_dump()) if sampling.corrector else None,
                generator=generator,
                progress=lambda done, total, before=position * sampling.steps: progress.advance(before + done),  # type: ignore[misc]
                on_step=recorder.see,
            )
            if drawn.evaluations != sampling.steps:
                raise KinoflowError(f"{drawn.evaluations} evaluations of the network, but {sampling.steps} steps")
            tokens.append(drawn.tokens.cpu())
            frames.append(recorder.frames(size, length))
    return torch.cat(tokens), torch.cat(frames, dim=1).long()


class FrameRecorder:
    """Keeps the tokens at the first step at or after each of the given times."""

    def __init__(self, times: Sequence[float]) -> None:
        self._waiting = sorted(enumerate(times), key=lambda item: -item[1])
        self._kept: dict[int, Tensor] = {}

    def see(self, tokens: Tensor, t: float) -> None:
        """Take notice of the tokens at time t."""
        while self._waiting and self._waiting[-1][1] <= t:
            self._kept[self._waiting.pop()[0]] = tokens.cpu().clone()

    def frames(self, size: int, length: int) -> Tensor:
        """Return what was kept, in the order of the times, [F, N, D]."""
        kept = [self._kept[number] for number in sorted(self._kept)]
        return torch.stack(kept) if kept else torch.empty(0, size, length)
