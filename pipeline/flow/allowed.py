"""Tokens that data may be: the sampler draws every x1 from a set of tokens, wherever the path leads on the way."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.clamp import Clamp
from pipeline.flow.errors import FlowError
from pipeline.flow.vocabulary import Vocabulary


@dataclass(frozen=True)
class Allowed:
    """Sets of tokens, bool[R, K], and the number of the set for the data at each position, `which` int64[B, D].

    The posterior of each token is conditioned on its set: p(x1 | x_t) is 0 outside and adds up to 1 inside. Tokens on
    the way are not restricted, because the model was trained with all of them. Since samples end on x1, no sample ever
    leaves the sets. A single token has the law of the data given that they are in the set. Of several tokens, each
    knows the sets of the others by what they already are in x_t, and by nothing else.

    >>> path = build_path("uniform", Vocabulary.single(4))
    >>> even, all_ = torch.tensor([True, False, True, False]), torch.ones(4, dtype=torch.bool)
    >>> allowed = Allowed(torch.stack([all_, even]), which=torch.tensor([[0, 1]]).expand(5, -1))
    >>> generator = torch.Generator().manual_seed(0)
    >>> model = lambda x, t: torch.zeros(*x.shape, 4)
    >>> sample(model, path, shape=(5, 2), allowed=allowed, generator=generator).tokens[:, 1] % 2
    tensor([0, 0, 0, 0, 0])
    """

    sets: Tensor
    which: Tensor

    def check(self, vocabulary: Vocabulary, kinds: Tensor, clamp: Clamp | None = None) -> None:
        """Raise unless every position of `kinds` [B, D] has a token to take, and takes it where a clamp fixes one."""
        sets, which = self.sets, self.which
        if sets.dim() != 2 or sets.shape[1] != vocabulary.size or sets.dtype != torch.bool:
            raise FlowError(f"allowed.sets: booleans of shape (sets, {vocabulary.size}) expected")
        if which.shape != kinds.shape or which.dtype != torch.int64:
            raise FlowError(f"allowed.which: numbers of sets, int64 of shape {tuple(kinds.shape)}, expected")
        if bool(((which < 0) | (which >= len(sets))).any()):
            raise FlowError(f"allowed.which: there are sets 0..{len(sets) - 1} only")
        targets = vocabulary.targets(torch.arange(vocabulary.kinds, device=kinds.device))
        possible = (sets[:, None] & targets).any(-1)[which, kinds]
        if not bool(possible.all()):
            raise FlowError(f"allowed: no token is left at {int((~possible).sum())} positions; allow one of their kind")
        if clamp is not None and not bool((sets[which, clamp.tokens] | ~clamp.fixed).all()):
            raise FlowError("allowed: a token that the clamp fixes is not in its set")

    def on(self, device: torch.device) -> "Allowed":
        """Return the same on a device."""
        return Allowed(self.sets.to(device), self.which.to(device))

    def at(self, rows: slice | Tensor, width: int, places: Tensor | None) -> "Allowed":
        """Return the same for some sequences, of `width` tokens and flattened, or for some `places` [n] in these."""
        which = self.which[rows, :width].flatten()
        return Allowed(self.sets, which if places is None else which[places])
