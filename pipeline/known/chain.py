"""Stationary hidden Markov chains: their likelihoods, neighbours and entropy, and the exact posterior on any path.

Letters in shapes: U chains, B sequences, D tokens of each, H hidden states, C tokens that are data.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.categorical import draw, uniform
from pipeline.flow.paths.base import Path


@dataclass(frozen=True)
class Chains:
    """Hidden Markov chains: start [U, H], transitions [U, H, H] and emissions [U, H, C], all float64.

    A chain without hidden states has the identity for emissions. `start` is the stationary distribution, so any n
    neighbours have the same distribution wherever they are.
    """

    start: Tensor
    transitions: Tensor
    emissions: Tensor

    @classmethod
    def stacked(cls, chains: "list[Chains]") -> "Chains":
        """Return several chains as one."""
        return cls(*(torch.cat(parts) for parts in zip(*(vars(chain).values() for chain in chains), strict=True)))

    @property
    def count(self) -> int:
        """How many chains there are."""
        return len(self.start)

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return self.emissions.shape[-1]

    @property
    def hidden(self) -> bool:
        """Whether the states are hidden, not the tokens themselves."""
        shown = torch.eye(self.emissions.shape[1], dtype=torch.float64)
        return self.emissions.shape[1:] != shown.shape or not bool((self.emissions == shown).all())

    def neighbours(self, count: int) -> Tensor:
        """Return the distribution of `count` neighbours, [U, C, ..., C]."""
        joint = self.start[:, None, :]  # [U, tokens so far, H]
        for place in range(count):
            joint = joint if place == 0 else joint @ self.transitions
            seen = joint[:, :, None, :] * self.emissions.transpose(1, 2)[:, None]
            joint = seen.flatten(1, 2)
        return joint.sum(-1).view(self.count, *[self.tokens] * count)

    def sample(self, labels: Tensor, length: int, generator: torch.Generator) -> Tensor:
        """Draw one sequence of the chain in `labels` [B] each, [B, D]."""
        uniforms = uniform((2, length, len(labels)), generator, labels.device)
        hidden, tokens = draw(self.start[labels], uniforms[0, 0]), []
        for place in range(length):
            if place:
                hidden = draw(self.transitions[labels, hidden], uniforms[0, place])
            tokens.append(draw(self.emissions[labels, hidden], uniforms[1, place]))
        return torch.stack(tokens, dim=1)

    def log_prob(self, x: Tensor, labels: Tensor) -> Tensor:
        """Return log q(x) of sequences x [B, D] under their chains, [B]."""
        emitted = self.emissions.transpose(1, 2)[labels[:, None], x]  # [B, D, H]
        forward, total = self.start[labels], torch.zeros(len(x), dtype=torch.float64)
        for place in range(x.shape[1]):
            forward = forward * emitted[:, place]
            mass = forward.sum(-1)
            total = total + mass.log()
            forward = step(forward / mass.clamp(min=1e-300)[:, None], self.transitions[labels])
        return total


def step(rows: Tensor, matrices: Tensor) -> Tensor:
    """Return rows [B, H] times matrices [B, H, H']."""
    return (rows[:, None, :] @ matrices).squeeze(1)


class ChainPosterior:
    """The exact p(x1^i | x_t) of every token, by messages along the chain from both of its ends.

    What x_t says of x1 at one place is the path's likelihood p_t(x_t^i | x1^i). So it is exact on every path. The chain
    of each sequence is its label.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> stays = torch.tensor([[[0.9, 0.1], [0.1, 0.9]]], dtype=torch.float64)
    >>> chain = Chains(torch.full((1, 2), 0.5, dtype=torch.float64), stays, torch.eye(2, dtype=torch.float64)[None])
    >>> ChainPosterior(path, chain)(torch.tensor([[1, 2, 1]]), torch.tensor([0.5]))[0, 1].exp()  # 1, mask, 1
    tensor([0.0122, 0.9878, 0.0000], dtype=torch.float64)
    """

    def __init__(self, path: Path, chains: Chains) -> None:
        self._path, self._chains = path, chains

    def __call__(self, x: Tensor, t: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return log p(x1^i | x) for tokens x [B, D] at times t [B], [B, D, K]."""
        chains, (batch, length) = self._chains, x.shape
        labels = torch.zeros(batch, dtype=torch.int64) if labels is None else labels
        seen = self._likelihood(x, t.double())  # [B, D, C]
        transitions, emissions = chains.transitions[labels], chains.emissions[labels]
        evidence = seen @ emissions.transpose(1, 2)  # of the hidden states
        forward, backward = [chains.start[labels]], [torch.ones_like(chains.start[labels])]
        for place in range(length - 1):
            forward.append(_scaled(step(forward[-1] * evidence[:, place], transitions)))
            behind = backward[-1] * evidence[:, length - 1 - place]
            backward.append(_scaled(step(behind, transitions.transpose(1, 2))))
        others = torch.stack(forward, dim=1) * torch.stack(backward[::-1], dim=1)  # what the other tokens say
        joint = seen * (others @ emissions)
        for instead in (seen, torch.ones_like(seen)):  # if x has no probability, tokens are taken by themselves
            joint = torch.where(joint.sum(-1, keepdim=True) == 0, instead, joint)
        missing = self._path.vocabulary.size - chains.tokens
        return torch.nn.functional.pad((joint / joint.sum(-1, keepdim=True)).log(), (0, missing), value=-torch.inf)

    def _likelihood(self, x: Tensor, t: Tensor) -> Tensor:
        """Return p_t(x^i | x1) for every token x1 that is data, [B, D, C]."""
        times, which = t.unique(return_inverse=True)
        x1 = torch.arange(self._chains.tokens).expand(len(times), -1)
        table = self._path.log_prob(x1, times[:, None].expand(x1.shape)).exp()  # [T, C, K]
        return table.transpose(1, 2)[which[:, None], x]


def _scaled(messages: Tensor) -> Tensor:
    return messages / messages.sum(-1, keepdim=True).clamp(min=1e-300)
