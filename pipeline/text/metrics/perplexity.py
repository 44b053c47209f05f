"""Perplexity of held-out text: a bound for networks with a path, exact for autoregressive ones; lower is better."""

import math
from collections.abc import Callable
from functools import partial

import torch
from pydantic import Field
from torch import Tensor, nn

from pipeline.config import Strict
from pipeline.flow.likelihood import evaluate_bound
from pipeline.flow.paths.mixture import MixturePath
from pipeline.networks.objective import NextTokenObjective
from pipeline.networks.saved import SavedModel
from pipeline.scoring.subject import Subject
from pipeline.store.progress import Progress
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData, parts_of

NULL = "independent"  # the reference whose likelihood is known: every token by its frequency
Evaluate = Callable[[Tensor, torch.Generator], tuple[float, float]]  # x1 [B, D] -> nats of all, standard error


class Options(Strict):
    """How much of each set is evaluated, and how finely."""

    sequences: int = Field(512, ge=1, description="sequences of each set, from the first on")
    points: int = Field(1024, ge=2, description="times at which the bound's integrand is evaluated for each of them")
    batch: int = Field(16, ge=1, description="sequences that are evaluated at once; changes the random draws")


def score(subject: Subject, options: Options) -> dict[str, float]:
    """Return exp of the nats per token for the test split and each evaluation set, with the Monte-Carlo error.

    If a set has words of its own (it was published in tokenised form), also return exp of the nats per word. All paths
    use the same estimator of the bound. Bounds of metric paths are useless (see `likelihood_bound`). A swept run uses
    the network of another run, and the row of that run has the perplexity.
    """
    if (evaluate := _evaluator(subject, options)) is None:
        return {}
    corpus = subject.data.origin.get("corpus", {}).get("name", "test")  # the test split has the name of its corpus
    sets = {corpus: subject.data.test} | subject.data.evaluation
    sets = {name: tokens[: options.sequences] for name, tokens in sets.items()}
    scores: dict[str, float] = {}
    done = 0
    total = sum(-(-len(tokens) // options.batch) for tokens in sets.values())
    with Progress("perplexity", total, unit="part") as progress:
        for name, tokens in sets.items():
            nats, variance = 0.0, 0.0
            for number, rows in enumerate(tokens.split(options.batch)):
                seed = derive_seed(subject.seed, "perplexity", name, number)
                generator, x1 = torch.Generator().manual_seed(seed), rows.long().to(subject.device)
                value, error = subject.once(f"perplexity {name} {number}", partial(evaluate, x1, generator))
                nats, variance, done = nats + value, variance + error**2, done + 1
                progress.advance(done, name)
            scores |= perplexities(name, nats / tokens.numel(), math.sqrt(variance) / tokens.numel(), subject.data)
    return scores


def conditions(subject: Subject, options: Options) -> dict[str, str]:
    """Return whether the perplexities are bounds, and which tokens they are per."""
    if subject.swept or _evaluator(subject, options) is None:
        return {}
    bound = subject.model is not None and subject.model.path is not None
    return {"likelihood": "bound" if bound else "exact", "tokens": tokens_of(subject.data)}


def tokens_of(data: TokenData) -> str:
    """Return the tokens that perplexities are per: those of different tokenizers cannot be compared."""
    choice = data.origin.get("tokenizer")
    if choice is None:
        return "states"
    return f"{choice['name']} of {choice['size']}" if choice.get("size") else str(choice["name"])


def perplexities(name: str, nats: float, error: float, data: TokenData) -> dict[str, float]:
    """Return the perplexities for so many nats per token, with their standard errors."""
    perplexity = math.exp(nats)
    scores = {f"perplexity_{name}": perplexity, f"perplexity_{name}_error": perplexity * error}
    record = data.record.get("sets", {}).get(name if name in data.evaluation else "test", {})
    if words := record.get("words"):
        per_word = (record["tokens"] + record["separators"]) / words
        value = math.exp(nats * per_word)
        scores |= {f"word_perplexity_{name}": value, f"word_perplexity_{name}_error": value * per_word * error}
    return scores


def _evaluator(subject: Subject, options: Options) -> Evaluate | None:
    """Return the function that computes the negative log-likelihood of sequences, or None if there is none."""
    model, data = subject.model, subject.data
    if model is None:
        return partial(_unigram, _log_frequencies(data)) if subject.samples.conditions["run"] == NULL else None
    if subject.swept:
        return None
    if model.path is None:
        return partial(_exact, model.network, NextTokenObjective(data.vocabulary))
    return partial(_bound, model, model.path, options.points) if isinstance(model.path, MixturePath) else None


def _bound(
    model: SavedModel, path: MixturePath, points: int, x1: Tensor, generator: torch.Generator
) -> tuple[float, float]:
    bound = evaluate_bound(model.network, path, x1, points=points, generator=generator, integrand=model.integrand)
    return -float(bound.log_prob.sum()), float(bound.standard_error.square().sum().sqrt())


@torch.no_grad()
def _exact(
    network: nn.Module, objective: NextTokenObjective, x1: Tensor, generator: torch.Generator
) -> tuple[float, float]:
    return float(objective(network, x1, torch.Generator(x1.device)).double().sum()), 0.0


def _unigram(log_prob: Tensor, x1: Tensor, generator: torch.Generator) -> tuple[float, float]:
    return -sum(float(log_prob[rows.cpu()].sum()) for rows in parts_of(x1)), 0.0


def _log_frequencies(data: TokenData) -> Tensor:
    """Return log p of tokens by their frequency in the training split, with one added to each count, [K]."""
    counts = data.counts().double() + (data.vocabulary.kind_of.values >= 0)
    return torch.log(counts / counts.sum())
