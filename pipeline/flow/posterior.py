"""The factorised posterior p(x1 | x_t): from logits to probabilities, draws of x1, and the exact one for a small q."""

from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.flow.categorical import draw, sharpen, uniform
from pipeline.flow.checks import check_distribution, check_logits, check_tokens
from pipeline.flow.chunks import row_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path

Model = Callable[[Tensor, Tensor], Tensor]  # (x int64[B, D], t float[B]) -> logits [B, D, K]


def constrain(path: Path, logits: Tensor, z: Tensor, kinds: Tensor) -> Tensor:
    """Return logits that give mass only to tokens x1 that are possible at positions of `kinds` that hold z.

    Tokens of another kind, and tokens that are never data, are excluded. If the source cannot have made z, then z is
    its own x1: an unmasked token stays.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> constrain(path, torch.zeros(2, 3), z=torch.tensor([2, 1]), kinds=torch.tensor([0, 0]))
    tensor([[0., 0., -inf],
            [-inf, 0., -inf]])
    """
    check_logits(logits, path.vocabulary.size)
    absorbed, here = path.absorbed(z, kinds)[..., None], z[..., None]
    excluded = ~path.vocabulary.targets(kinds) | absorbed
    excluded = excluded.scatter(-1, here, excluded.gather(-1, here) & ~absorbed)
    logits = logits.masked_fill(excluded, -torch.inf)
    if not bool((logits.amax(-1) > -torch.inf).all()):
        raise FlowError("logits: no possible token is left at some position; its logits are all -inf")
    return logits


def log_posterior(path: Path, logits: Tensor, x1: Tensor, z: Tensor) -> Tensor:
    """Return log p(x1 | x_t) at positions with the data x1, in float32 or better, [..., K]."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.log_softmax(constrain(path, logits, z, path.vocabulary.kinds_of(x1)), dim=-1)


class PosteriorSampler:
    """Draws x1 from a model's posterior, sharpened by the filters, and counts the evaluations of the model."""

    def __init__(
        self,
        model: Model,
        path: Path,
        kinds: Tensor,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> None:
        self._model, self._path, self._kinds = model, path, kinds
        self._filters = (temperature, top_k, top_p)
        self.evaluations = 0

    def draw(self, z: Tensor, t: float, generator: torch.Generator) -> Tensor:
        """Return x1 ~ p(. | z) for every position, in chunks of float64 rows."""
        logits = self._model(z, torch.full((len(z),), t, dtype=torch.float32, device=z.device))
        self.evaluations += 1
        if logits.shape[:-1] != z.shape:
            raise FlowError(f"logits: shape {tuple(logits.shape)} does not begin with the tokens' {tuple(z.shape)}")
        rows, tokens, kinds = logits.flatten(0, -2), z.flatten(), self._kinds.flatten()
        uniforms, drawn = uniform((len(tokens),), generator, z.device), torch.empty_like(tokens)
        for part in row_chunks(len(tokens), rows.shape[-1]):
            possible = constrain(self._path, rows[part].double(), tokens[part], kinds[part])
            drawn[part] = draw(sharpen(possible, *self._filters).softmax(-1), uniforms[part])
        return drawn.view_as(z)


class ExactPosterior:
    """The true posterior of a data distribution q that is small enough to list. It can stand in for a network.

    >>> path = build_path("mask", Vocabulary.single(2, specials=1))
    >>> model = ExactPosterior(path, torch.tensor([[0, 0], [1, 1]]), torch.tensor([0.25, 0.75]))
    >>> model(torch.tensor([[2, 2]]), torch.tensor([0.5])).exp()  # both positions are still masked
    tensor([[[0.2500, 0.7500, 0.0000],
             [0.2500, 0.7500, 0.0000]]], dtype=torch.float64)
    """

    def __init__(self, path: Path, sequences: Tensor, probabilities: Tensor) -> None:
        check_tokens(sequences, path.vocabulary.size, "sequences")
        check_distribution(probabilities, "probabilities")
        self._path, self._sequences, self._log_q = path, sequences, probabilities.double().log()

    def __call__(self, x: Tensor, t: Tensor) -> Tensor:
        """Return log p(x1^i | x) for every position i and token, [B, D, K] (eq:factorized_posterior).

        A first-order step may move two tokens to a pair that q excludes. Such an x has no probability, and each
        position then looks at its own token only.
        """
        count, length = self._sequences.shape
        times = t.double()[:, None, None].expand(len(x), count, length)
        rows = self._path.log_prob(self._sequences.expand(len(x), -1, -1), times)
        log_likelihood = rows.gather(-1, x[:, None, :, None].expand(-1, count, -1, 1)).squeeze(-1)  # [B, M, D]
        joint = log_likelihood.sum(-1) + self._log_q
        possible = (joint > -torch.inf).any(-1)[:, None, None]
        weights = torch.where(possible, joint[..., None], log_likelihood + self._log_q[:, None])
        weights = (weights - weights.amax(1, keepdim=True).clamp(min=-1e300)).exp()
        prob = torch.zeros(*x.shape, self._path.vocabulary.size, dtype=torch.float64, device=x.device)
        prob.scatter_add_(-1, self._sequences.T.expand(len(x), -1, -1), weights.transpose(1, 2))
        empty = prob.sum(-1, keepdim=True) == 0  # a token that this position of q never takes
        kinds = self._path.vocabulary.kinds_of(self._sequences[0]).expand(x.shape)
        prob = torch.where(empty, self._path.vocabulary.targets(kinds).double(), prob)
        return torch.log(prob / prob.sum(-1, keepdim=True))

    def log_prob(self, x: Tensor) -> Tensor:
        """Return log q(x) of sequences x [B, D]; -inf if q has none."""
        same = (x[:, None] == self._sequences).all(-1)
        return torch.where(same, self._log_q, -torch.inf).logsumexp(-1)
