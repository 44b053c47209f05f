"""Trained networks in safetensors files: the weights, and a description of the model, the path and the loss."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch
from pydantic import ValidationError
from safetensors.torch import load_model
from torch import Tensor, nn

from pipeline.config import LossChoice, ModelChoice, PathChoice, Run, Strict
from pipeline.config.choices import CHECKED
from pipeline.config.plugins import MODELS
from pipeline.errors import KinoflowError
from pipeline.flow.chunks import row_chunks
from pipeline.flow.errors import FlowError
from pipeline.flow.paths import build_path, known_to
from pipeline.flow.paths.base import Path as ProbabilityPath
from pipeline.flow.score import negative_score_entropy, posterior_logits
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.denoiser import Denoiser
from pipeline.store.arrays import read_description
from pipeline.store.memory import check_room
from pipeline.store.tensors import write_network
from pipeline.tokens.token_data import TokenData

if TYPE_CHECKING:
    from pipeline.flow.likelihood import Integrand  # training does not depend on it
FLOAT = 4  # bytes of a weight


class TokenShape(Protocol):
    """What the size of a network depends on, whether the data are prepared yet or not."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def length(self) -> int: ...
    @property
    def grid(self) -> tuple[int, int, int] | None: ...
    @property
    def classes(self) -> int: ...


class Description(Strict):
    """What a network is and what it was trained for."""

    run: str
    model: ModelChoice
    path: PathChoice | None
    loss: LossChoice | None
    seed: int
    length: int
    vocabulary: str
    warning: str = ""  # about its training, for the tables

    @classmethod
    def of(cls, run: str, chosen: Run, data: TokenData, warning: str = "") -> "Description":
        """Return the description of a run of the configuration that is trained on `data`."""
        return cls(
            run=run,
            model=chosen.model,
            path=chosen.path,
            loss=chosen.loss,
            seed=chosen.seed,
            length=data.length,
            vocabulary=data.vocabulary_hash,
            warning=warning,
        )


@dataclass(frozen=True)
class SavedModel:
    """A trained network, the path it was trained on (None: autoregressive), and its description."""

    network: nn.Module
    path: ProbabilityPath | None
    description: Description

    @property
    def has_scores(self) -> bool:
        """Whether the network was trained to give concrete scores rather than a posterior."""
        return self.description.loss is not None and self.description.loss.name == "score_entropy"

    @property
    def is_told_classes(self) -> bool:
        """Whether the network is told the class of each sequence."""
        return is_told_classes(self.description.model)

    @property
    def integrand(self) -> "Integrand | None":
        """The integrand of the likelihood bound, if it is not that of a posterior."""
        return negative_score_entropy if self.has_scores else None

    @property
    def answers_at(self) -> bool:
        """Whether `posterior` takes the numbers of some tokens, and gives the logits of these only."""
        return isinstance(self.network, Denoiser) and self.network.answers_at

    @property
    def ragged(self) -> bool:
        """Whether `posterior` takes sequences without the pads at their end."""
        return isinstance(self.network, Denoiser) and self.network.ragged

    def posterior(self, x: Tensor, t: Tensor, labels: Tensor | None = None, at: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K], for tokens x [B, D], times t [B] and, if any, classes [B].

        If the network `answers_at` the numbers `at` [n] of some tokens, they are [n, K].
        """
        given = {key: value for key, value in (("labels", labels), ("at", at)) if value is not None}
        logits: Tensor = self.network(x, t, **given)
        if self.path is None or not self.has_scores:
            return logits
        rows, tokens, times = logits.flatten(0, -2), x.flatten(), t.double()[:, None].expand(x.shape).flatten()
        tokens, times = (tokens, times) if at is None else (tokens[at], times[at])
        converted = torch.empty_like(rows, dtype=torch.float32)
        for part in row_chunks(*rows.shape):  # in float64, which needs too much memory for all rows at once
            converted[part] = posterior_logits(self.path, rows[part], tokens[part], times[part]).float()
        return converted.view_as(logits)


def new_network(choice: ModelChoice, data: TokenShape) -> nn.Module:
    """Return an untrained network for data of some shape; one for images gets their grid and number of classes."""
    chosen = MODELS.chosen(choice)
    known = {"grid": data.grid, "classes": data.classes}
    taken = {key: value for key, value in known.items() if chosen.plugin.takes(key)}
    network: nn.Module = chosen.plugin.build(chosen.options, data.vocabulary, data.length, **taken)
    return network


def bytes_of_weights(choice: ModelChoice, data: TokenShape) -> float:
    """Return the bytes of the weights of a network, without making it; 0 if that is impossible."""
    return FLOAT * sum(parameter.numel() for parameter in without_values(choice, data).parameters())


def without_values(choice: ModelChoice, data: TokenShape) -> nn.Module:
    """Return the network without the values of its weights; an empty one if it cannot be built so."""
    try:
        with torch.device("meta"):
            return new_network(choice, data)
    except (RuntimeError, OverflowError, TypeError) as error:
        if "meta" in str(error):  # it reads values
            return nn.Module()
        # Otherwise the product of some sizes is no number of torch.
        reason = str(error).splitlines()[0]
        raise KinoflowError(f"{named(choice)}: cannot be built ({reason}); lower its sizes") from error


def named(choice: ModelChoice) -> str:
    """Return a network with its options, for messages."""
    return ", ".join([f"model {choice.name}", *(f"{key}={value}" for key, value in choice.options.items())])


def is_told_classes(choice: ModelChoice) -> bool:
    """Return whether a network takes the class of each sequence, as `labels`."""
    chosen = MODELS.chosen(choice)
    return chosen.plugin.is_told_classes(chosen.options)


def path_for(choice: PathChoice, data: TokenData) -> ProbabilityPath:
    """Return the path for prepared data, built with the frequencies of tokens or the distances that it needs."""
    known = {"counts": data.counts(), "distances": data.distances, "embeddings": data.embeddings}
    known = {key: value for key, value in known.items() if value is not None}
    return build_path(choice.name, data.vocabulary, **choice.options, **known_to(choice.name, known))


def save_network(path: Path, network: nn.Module, description: Description) -> None:
    """Write the weights and the description."""
    write_network(path, "weights", network, description.model_dump(mode="json"))


def load_network(path: Path, data: TokenData, run: str) -> SavedModel:
    """Read the network of a run that was trained on `data`, ready for evaluation."""
    try:
        description = Description.model_validate(read_description(path, "weights"), context=CHECKED)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise KinoflowError(f"{path}: weights of another version of this project ({why}); train it again") from error
    if description.run != run:
        raise KinoflowError(f"{path}: holds the weights of run {description.run!r}, not of {run!r}; give another file")
    _check_tokens(path, description, data)
    check_room(bytes_of_weights(description.model, data), f"{path}: its network", "give other weights")
    network = new_network(description.model, data)
    try:
        load_model(network, str(path))
    except RuntimeError as error:
        raise KinoflowError(f"{path}: the weights do not fit the tokens they are used with; {error}") from error
    if wrong := [name for name, tensor in network.state_dict().items() if not bool(tensor.isfinite().all())]:
        raise KinoflowError(f"{path}: {wrong[0]} has numbers that are not finite; train the run again")
    try:
        probability_path = path_for(description.path, data) if description.path else None
    except FlowError as error:
        raise KinoflowError(f"{path}: its path does not fit the tokens it is used with; {error}") from error
    return SavedModel(network.eval(), probability_path, description)


def _check_tokens(path: Path, description: Description, data: TokenData) -> None:
    """Raise unless vocabulary and length are those of training: weights may have the right shapes for other tokens."""
    again = "use the tokens that it was trained on, or train it again"
    if description.vocabulary != data.vocabulary_hash:
        raise KinoflowError(f"{path}: trained on another vocabulary than that of these tokens; {again}")
    if description.length != data.length:
        lengths = f"trained on sequences of {description.length} tokens, these have {data.length}"
        raise KinoflowError(f"{path}: {lengths}; {again}")
