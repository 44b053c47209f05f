"""How surprised a language model is by texts, window by window, and the features that it gives them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from pipeline.errors import KinoflowError
from pipeline.store.progress import Progress
from pipeline.text.tokenizer import END

_LOGITS = 2**27  # at most so many logits in one batch (half a gigabyte), unless a single window has more
_TOKENS = 2**13  # at most so many tokens in one batch, whatever the vocabulary

Encode = Callable[[Sequence[str]], Sequence[Sequence[int]]]  # texts -> tokens of each, without any special ones
LastStates = Callable[[Tensor, Tensor], Tensor]  # x [B, D], last places [B] -> features [B, F] of the tokens there
NextLogits = Callable[[Tensor], Tensor]  # x [B, D] -> logits [B, D - 1, K] of all but the first, given those before


@dataclass(frozen=True)
class Judge:
    """A language model with `size` tokens of its own, which sees at most `window` of them at once.

    `end` are its tokens for the end of a document. `last_states` gives features of a text, if it has any. If it is not
    our model, `revision` is its commit, and `files` are those it was read from.
    """

    encode: Encode
    next_logits: NextLogits
    size: int
    window: int
    end: tuple[int, ...]
    device: torch.device
    last_states: LastStates | None = None
    revision: str | None = None
    files: tuple[Path, ...] = ()

    @torch.no_grad()
    def negative_log_likelihood(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the nats of each text and the number of the judge's tokens that they cover, both [N].

        The first token of each window has no context and is not counted. A text longer than the window is cut into
        windows; a text of fewer than two tokens has no nats.
        """
        nats, counts = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.int64)
        windows = [
            (number, torch.tensor(tokens[start : start + self.window]))
            for number, tokens in enumerate(self._tokens_of(texts))
            for start in range(0, len(tokens) - 1, self.window)  # a last token alone would make no window
        ]
        done = 0
        with Progress("judging", len(windows), unit="window") as progress:
            for batch in self._batches(windows):
                for (number, tokens), value in zip(batch, self._nats_of([tokens for _, tokens in batch]), strict=True):
                    nats[number] += value
                    counts[number] += len(tokens) - 1
                done += len(batch)
                progress.advance(done)
        return nats, counts

    @torch.no_grad()
    def features(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the features [N, F] of the last token of each text, or of its first window."""
        if self.last_states is None:
            raise KinoflowError("scoring.mauve.judge: a run of the experiment has no features; name another judge")
        windows = [
            (number, torch.tensor((tokens or self.end)[: self.window]))
            for number, tokens in enumerate(self._tokens_of(texts))
        ]
        found: dict[int, Tensor] = {}
        with Progress("features", len(windows), unit="text") as progress:
            for batch in self._batches(windows):
                x = torch.nn.utils.rnn.pad_sequence([tokens for _, tokens in batch], batch_first=True).to(self.device)
                last = torch.tensor([len(tokens) - 1 for _, tokens in batch], device=self.device)
                states = self.last_states(x, last).double().cpu()
                found |= {number: state for (number, _), state in zip(batch, states, strict=True)}
                progress.advance(len(found))
        features: NDArray[np.float64] = torch.stack([found[number] for number in range(len(texts))]).numpy()
        return features

    def _batches(self, windows: Sequence[tuple[int, Tensor]]) -> Iterator[Sequence[tuple[int, Tensor]]]:
        """Yield numbered windows in batches of similar lengths, so that little is padded."""
        left = sorted(windows, key=lambda window: -len(window[1]))
        while left:
            rows = max(1, min(_TOKENS, _LOGITS // self.size) // len(left[0][1]))
            yield left[:rows]
            left = left[rows:]

    def _tokens_of(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the tokens of each text, with the judge's own end tokens where a document ends."""
        documents = [text.split(END) for text in texts]
        encoded = iter(self.encode([document for text in documents for document in text]) if documents else ())
        for text in documents:
            tokens = [*next(encoded)]
            for _ in text[1:]:
                tokens += [*self.end, *next(encoded)]
            yield tokens

    def _nats_of(self, windows: Sequence[Tensor]) -> list[float]:
        """Return the nats of each window.

        Pads are at the end, where no counted token sees them: the models only look back. So no mask is needed, and any
        token can be the pad.
        """
        x = torch.nn.utils.rnn.pad_sequence(list(windows), batch_first=True).to(self.device)
        lengths = torch.tensor([len(window) for window in windows], device=self.device)
        logits = self.next_logits(x).float()
        surprise = functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten(), reduction="none").view(len(x), -1)
        counted = torch.arange(1, x.shape[1], device=self.device) < lengths[:, None]
        nats: list[float] = torch.where(counted, surprise, 0.0).double().sum(dim=1).tolist()
        return nats
