"""The truth that samplers are measured against: distributions of sequences, their posteriors and their entropies."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pipeline.config import DataChoice, Oracle, PathChoice
from pipeline.config.plugins import DATASETS
from pipeline.errors import KinoflowError
from pipeline.flow.paths import Path, build_path, known_to
from pipeline.flow.posterior import ExactPosterior, Model
from pipeline.flow.vocabulary import Vocabulary
from pipeline.known.chain import ChainPosterior, Chains
from pipeline.store.memory import check_room

LARGEST_LIST = 4096  # sequences, masks included: a law is a number for each, and a step one for each pair
_ENTROPY_SAMPLES = 20_000  # of a hidden chain, whose entropy has no closed form
MOST_DIGITS = 30  # of a number that is written out
BYTES = 8  # of a number, and of a token
_MADE_UP = 10_000  # counts of tokens for paths that ask for them


@dataclass(frozen=True)
class Truth:
    """Distributions over sequences of one length: `chains`, or one that is `listed`, [C, ..., C]."""

    vocabulary: Vocabulary
    length: int
    chains: Chains | None
    listed: Tensor | None

    @classmethod
    def of(cls, data: DataChoice, oracle: Oracle, key: str = "data", start: int = 0) -> "Truth":
        """Return the truth of a data set; `key` names it in errors. Chains have chain_seeds from `start` on."""
        chosen = DATASETS.chosen(data)
        plugin, options = chosen.plugin, chosen.options
        length, chains, listed = plugin.length(options), None, plugin.probabilities(options)
        first = plugin.chain(options)
        if length is None or (first is None and listed is None):
            raise KinoflowError(f"{key}: the distribution of {data.name!r} is not known; an oracle needs one that is")
        vocabulary = plugin.vocabulary(options)
        _check_law(oracle.law, vocabulary.size, length, first is not None, key)
        if first is not None:
            _check_room(oracle, first, length, key)
            several = (
                DATASETS.chosen(DataChoice(name=data.name, **data.options | {"chain_seed": seed})).options
                for seed in range(start, start + oracle.distributions)
            )
            chains = Chains.stacked([one for one in map(plugin.chain, several) if one is not None])
        return cls(vocabulary, length, chains, listed)

    @property
    def count(self) -> int:
        """How many distributions there are."""
        return self.chains.count if self.chains else 1

    def neighbours(self, count: int) -> Tensor:
        """Return the distribution of `count` neighbours, pooled over all places, [U, C, ..., C]."""
        if self.chains is not None:
            return self.chains.neighbours(count)
        assert self.listed is not None, "there are chains or a list"
        return pooled(self.listed[None], count)

    @property
    def probabilities(self) -> Tensor:
        """The probability of every sequence, [U, C, ..., C]."""
        return (
            self.chains.neighbours(self.length) if self.listed is None and self.chains else self.neighbours(self.length)
        )

    def posterior(self, path: Path) -> Model:
        """Return the exact posterior on a path; its labels say which distribution each sequence is from."""
        if self.chains is not None:
            return ChainPosterior(path, self.chains)
        q = self.probabilities[0]
        exact = ExactPosterior(path, q.nonzero(), q[q > 0])
        return lambda x, t, labels: exact(x, t)

    def path(self, choice: PathChoice) -> Path:
        """Return a path over the vocabulary; frequencies of tokens are those of all distributions together."""
        counts = torch.zeros(self.vocabulary.size)
        frequencies = self.neighbours(1).mean(0)
        counts[: len(frequencies)] = (frequencies * _MADE_UP).round().float()
        return build_path(choice.name, self.vocabulary, **choice.options, **known_to(choice.name, {"counts": counts}))

    @cached_property
    def entropies(self) -> Tensor:
        """The entropy of a sequence of each distribution in nats, [U]; of long hidden chains by many sequences."""
        chains = self.chains
        if chains is None or self.vocabulary.size**self.length <= LARGEST_LIST:
            return torch.special.entr(self.probabilities).flatten(1).sum(-1)
        if not chains.hidden:
            of_rows = (chains.start * torch.special.entr(chains.transitions).sum(-1)).sum(-1)
            return torch.special.entr(chains.start).sum(-1) + (self.length - 1) * of_rows
        labels = torch.arange(self.count).repeat_interleave(_ENTROPY_SAMPLES)
        drawn = chains.sample(labels, self.length, torch.Generator().manual_seed(0))
        return -chains.log_prob(drawn, labels).view(self.count, -1).mean(-1)


def _check_law(law: str, size: int, length: int, is_chain: bool, key: str) -> None:
    digits = length * math.log10(size)
    if law == "exact" and (digits > MOST_DIGITS or size**length > LARGEST_LIST):
        other = "set oracle.law to samples" if is_chain else "take a smaller one"
        count = f"10^{digits:.0f}" if digits > MOST_DIGITS else size**length
        raise KinoflowError(
            f"{key}: {length} tokens of {size} values make {count} sequences, too many to list (at most "
            f"{LARGEST_LIST}); {other}, or make them shorter"
        )
    if law == "samples" and not is_chain:
        raise KinoflowError(f"{key}: only of chains can samples be judged; set oracle.law to exact")


def _check_room(oracle: Oracle, chain: Chains, length: int, key: str) -> None:
    """Raise if the chains, their samples or the histograms of three neighbours cannot fit into the memory."""
    kept = chain.transitions.numel() + chain.emissions.numel()
    if oracle.law == "samples":
        kept += 2 * chain.tokens ** min(length, 3) + 4 * oracle.count * length
    fix = "lower oracle.distributions, oracle.count, or the length and states of the data"
    check_room(BYTES * oracle.distributions * float(kept), f"{key}: an oracle of it", fix)


def pooled(law: Tensor, count: int) -> Tensor:
    """Return the mean law of `count` neighbours over all places of a law [U, C, ..., C]."""
    length, found = law.dim() - 1, []
    for first in range(length - count + 1):
        others = [place + 1 for place in range(length) if not first <= place < first + count]
        found.append(law.sum(others) if others else law)
    return torch.stack(found).mean(0)
