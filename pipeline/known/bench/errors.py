"""The errors of samplers: total variation of neighbours, and how much less likely the samples are than data."""

from collections.abc import Iterable

import torch
from torch import Tensor

from pipeline.flow.paths import Path
from pipeline.flow.sampler import sample
from pipeline.known.bench.rows import Row
from pipeline.known.bench.truth import Truth, pooled
from pipeline.sampling.correctors import corrector_of

PAIRS, TRIPLES, EXCESS = "pairs", "triples", "excess_nats"
NEIGHBOURS = {PAIRS: 2, TRIPLES: 3}
Errors = dict[str, list[float]]  # for each measure, one number for each distribution


def errors_of_law(truth: Truth, law: Tensor) -> Errors:
    """Return the errors of a law [U, C, ..., C], without sampling error.

    The excess is the mean of -log q under the law minus the entropy of q, in nats per token. It is below zero if the
    sampler prefers likely sequences. If the law has mass where q has none, it is infinite and left out.
    """
    found = {
        name: _variation(pooled(law, count), truth.neighbours(count))
        for name, count in NEIGHBOURS.items()
        if count <= truth.length
    }
    q = truth.probabilities
    outside = torch.where(q > 0, 0.0, law).flatten(1).sum(-1)
    if float(outside.max()) < 1e-12:
        likelihood = torch.where(q > 0, law * q.clamp(min=1e-300).log(), 0.0).flatten(1).sum(-1)
        found[EXCESS] = ((-likelihood - truth.entropies) / truth.length).tolist()
    return found


def errors_of_samples(truth: Truth, tokens: Tensor) -> Errors:
    """Return the errors of as many samples of each distribution, one after the other, [U * n, D].

    Total variations are those of histograms of all places. Even samples of the truth itself have some.
    """
    chains = truth.chains
    assert chains is not None, "the truth was checked"
    size, parts = chains.tokens, tokens.view(truth.count, -1, truth.length)
    found: Errors = {}
    for name, count in NEIGHBOURS.items():
        cells = torch.zeros_like(parts[..., count - 1 :])
        for place in range(count):
            cells = cells * size + parts[..., place : truth.length - count + 1 + place]
        counts = torch.stack([torch.bincount(of_one.flatten(), minlength=size**count) for of_one in cells]).double()
        seen = counts / counts.sum(-1, keepdim=True)
        found[name] = _variation(seen.view(truth.count, *[size] * count), truth.neighbours(count))
    likelihood = chains.log_prob(tokens, labels_of(truth, len(tokens))).view(truth.count, -1).mean(-1)
    found[EXCESS] = ((-likelihood - truth.entropies) / truth.length).tolist()
    return found


def drawn(truth: Truth, path: Path, row: Row, count: int, generator: torch.Generator) -> Tensor:
    """Draw `count` samples of each distribution with a sampler, [U * count, D]."""
    total = truth.count * count
    return sample(
        truth.posterior(path),
        path,
        shape=(total, truth.length),
        steps=row.times(path),
        velocity=row.follows,
        step=row.step,
        scheme=row.uses,
        corrector=corrector_of(row.corrector),
        labels=labels_of(truth, total),
        generator=generator,
    ).tokens


def labels_of(truth: Truth, total: int) -> Tensor:
    """Return the number of the distribution of each sample, [total]."""
    return torch.arange(truth.count).repeat_interleave(total // truth.count)


def independent(truth: Truth) -> Tensor:
    """Return the law of independent tokens with the right frequencies: what a sampler has to beat, [U, C, ..., C]."""
    single, joint = truth.neighbours(1), torch.ones(truth.count, 1, dtype=torch.float64)
    for _ in range(truth.length):
        joint = (joint[..., None] * single[:, None]).flatten(1)
    return joint.view(truth.count, *[single.shape[-1]] * truth.length)


def _variation(law: Tensor, truth: Tensor) -> list[float]:
    """Return half the sum of absolute differences, of each distribution."""
    return ((law - truth).abs().flatten(1).sum(-1) / 2).tolist()


def interval(values: Iterable[float]) -> tuple[float] | tuple[float, float, float]:
    """Return the mean and its 95 % interval (Student's t); of one value alone there is no interval."""
    from scipy.stats import t

    numbers = torch.tensor(list(values), dtype=torch.float64)
    mean = float(numbers.mean())
    if len(numbers) == 1:
        return (mean,)
    half = float(t.ppf(0.975, len(numbers) - 1)) * float(numbers.std()) / len(numbers) ** 0.5
    return mean, mean - half, mean + half
