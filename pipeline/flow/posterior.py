"""The factorised posterior p(x1 | x_t): from logits to probabilities, draws of x1, and the exact one for a small q."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.flow.allowed import Allowed
from pipeline.flow.categorical import draw_from_logits
from pipeline.flow.checks import check_distribution, check_logits, check_possible, check_size, check_tokens
from pipeline.flow.chunks import small_chunks
from pipeline.flow.device import Table
from pipeline.flow.errors import FlowError
from pipeline.flow.paths.base import Path
from pipeline.flow.vocabulary import Places, Vocabulary

# (x int64[B, D], t float[B]) -> logits [B, D, K]. If the sampler is given classes, it passes them on as `labels` [B].
Model = Callable[..., Tensor]


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
    check_possible(logits.amax(-1))
    return logits


def log_posterior(path: Path, logits: Tensor, x1: Tensor, z: Tensor) -> Tensor:
    """Return log p(x1 | x_t) at positions with the data x1, in float32 or better, [..., K]."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.log_softmax(constrain(path, logits, z, path.vocabulary.kinds_of(x1)), dim=-1)


@dataclass(frozen=True)
class Asked:
    """The tokens of a batch for which x1 is drawn.

    `rows`: the batch, as a part of all sequences. `places` [n]: the tokens, as numbers into the flattened batch; None:
    all of them. `kinds` [n]: their kinds. `of_kinds`: for each kind, which of the n tokens are of that kind.
    """

    rows: slice | Tensor
    places: Tensor | None
    kinds: Tensor
    of_kinds: list[Places]

    @classmethod
    def everything(cls, kinds: Tensor, vocabulary: Vocabulary) -> "Asked":
        """Return all tokens of all sequences, with kinds [B, D]."""
        return cls(slice(None), None, kinds.flatten(), vocabulary.places(kinds))


class PosteriorSampler:
    """Draws x1 from a model's posterior, sharpened by the filters, from rows over the tokens of one kind only.

    Nothing here waits for the device but the checks of logits, which a block of `deferred_checks` puts off. `draw` is
    `draw_from_logits` with its filters. If the model `answers_at` some places, it takes them as `at` [n] and returns
    only their logits, [n, K]. Tokens that are not `allowed` get no mass, before the filters see the rest.
    """

    def __init__(
        self,
        model: Model,
        path: Path,
        draw: Callable[[Tensor, Tensor], Tensor] = draw_from_logits,
        labels: Tensor | None = None,
        answers_at: bool = False,
        allowed: Allowed | None = None,
    ) -> None:
        self._model, self._draw, self._labels, self._answers_at = model, draw, labels, answers_at
        self._allowed = allowed
        vocabulary = path.vocabulary
        of_kinds = [vocabulary.columns(kind) for kind in range(vocabulary.kinds)]
        self._columns = [columns if isinstance(columns, slice) else Table(columns) for columns in of_kinds]
        kinds = torch.arange(vocabulary.kinds)[:, None].expand(-1, vocabulary.size)
        self._absorbed = Table(path.absorbed(torch.arange(vocabulary.size).expand(vocabulary.kinds, -1), kinds))

    def draw(self, x: Tensor, t: Tensor, asked: Asked, uniforms: Tensor) -> Tensor:
        """Return x1 ~ p(. | x) for the tokens that are asked for, [n], of sequences x [b, D] at times t [b]."""
        given = {} if self._labels is None else {"labels": self._labels[asked.rows]}
        z, answers = x.flatten(), asked.places is not None and self._answers_at
        logits = self._model(x, t, at=asked.places, **given) if answers else self._model(x, t, **given)
        expected = asked.places.shape if answers and asked.places is not None else x.shape
        if logits.shape[:-1] != expected:
            raise FlowError(f"logits: shape {tuple(logits.shape)} does not begin with the tokens' {tuple(expected)}")
        check_size(logits, self._absorbed.values.shape[-1])
        rows = logits.flatten(0, -2)
        if asked.places is not None:
            z, rows = z[asked.places], rows if answers else rows[asked.places]
        allowed = self._allowed and self._allowed.at(asked.rows, x.shape[1], asked.places)
        drawn = torch.empty_like(z)
        for which, of_kind in zip(asked.of_kinds, self._columns, strict=True):
            columns = of_kind if isinstance(of_kind, slice) else of_kind.on(z.device)
            possible, numbers = rows[:, columns][which], uniforms[which]
            if allowed is not None:
                possible = possible.masked_fill(~allowed.sets[:, columns][allowed.which[which]], -torch.inf)
            tokens = torch.empty(len(possible), dtype=torch.int64, device=z.device)
            for part in small_chunks(numbers, possible.shape[1]):
                tokens[part] = self._draw(possible[part], numbers[part])
            drawn[which] = tokens + columns.start if isinstance(columns, slice) else columns[tokens]
        return torch.where(self._absorbed.on(z.device)[asked.kinds, z], z, drawn)


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
