"""Samples in blocks of a fixed size, each with its own seed: any number of shards gives the same samples."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from pipeline.config import Sampling
from pipeline.errors import KinoflowError
from pipeline.flow.allowed import Allowed
from pipeline.flow.clamp import Clamp
from pipeline.flow.grids import GRIDS
from pipeline.flow.guidance import guided
from pipeline.flow.posterior import Model
from pipeline.flow.sampler import Samples, sample
from pipeline.flow.schemes import build_scheme
from pipeline.flow.velocities import VELOCITIES
from pipeline.networks.saved import SavedModel
from pipeline.sampling.autoregressive import OfClasses, sample_in_order
from pipeline.sampling.correctors import corrector_of
from pipeline.sampling.layouts import draw_layouts
from pipeline.sampling.redraws import redraw
from pipeline.sampling.samples import Drawn
from pipeline.store.progress import Progress
from pipeline.store.seeds import derive_seed
from pipeline.store.shards import part_of
from pipeline.store.tensor_journal import TensorJournal
from pipeline.tokens.token_data import TokenData

OnStep = Callable[[Tensor, float], None]
OnProgress = Callable[[int, int], None]


def blocks_of(count: int, block: int, shard: int, shards: int) -> range:
    """Return the numbers of the blocks that a shard draws."""
    return part_of(-(-count // block), shard, shards)


def draw_blocks(
    model: SavedModel,
    data: TokenData,
    sampling: Sampling,
    seed: int,
    blocks: Sequence[int],
    finished: TensorJournal | None = None,
    shown: bool = True,
) -> Iterator[Drawn]:
    """Draw the given blocks one after the other. Those in the journal `finished` are not drawn again."""
    steps = evaluations(model, data, sampling.steps)
    with Progress("sampling", len(blocks) * steps, shown=shown) as progress:
        for position, block in enumerate(blocks):
            kept = finished.kept(f"block-{block}") if finished is not None else None
            if kept is not None:
                progress.advance((position + 1) * steps)
            else:

                def advance(done: int, total: int, before: int = position * steps) -> None:
                    progress.advance(before + done)

                drawn = _draw_block(model, data, sampling, seed, block, advance)
                kept = {name: values.int() for name, values in drawn._asdict().items() if values is not None}
                if finished is not None:
                    finished.keep(f"block-{block}", kept)
            yield Drawn(**kept)


def _draw_block(
    model: SavedModel, data: TokenData, sampling: Sampling, seed: int, block: int, progress: OnProgress
) -> Drawn:
    numbers, device = sampling.numbers(block), next(model.network.parameters()).device
    on_host, generator = generators(derive_seed(seed, "block", block), device)
    recorder = FrameRecorder(sampling.frames)
    kinds = draw_layouts(data, len(numbers), on_host).to(device)
    labels = labels_of(model, data, numbers)
    drawn = draw_tokens(model, data, sampling, kinds, generator, progress, recorder.see, labels=labels)
    return Drawn(drawn.tokens.cpu(), recorder.frames(len(numbers), data.length), drawn.visits, labels)


def generators(seed: int, device: torch.device) -> tuple[torch.Generator, torch.Generator]:
    """Return a generator on the CPU and one on the device: there, no step waits for numbers to be copied.

    On the CPU both are one. So a seed gives the same samples wherever the kind of device is the same.
    """
    on_host = torch.Generator().manual_seed(seed)
    return on_host, on_host if device.type == "cpu" else torch.Generator(device).manual_seed(seed)


def labels_of(model: SavedModel, data: TokenData, numbers: Sequence[int]) -> Tensor | None:
    """Return the classes of samples by their numbers, each class in turn; None if the network is not told any."""
    return torch.tensor(numbers) % data.classes if model.is_told_classes else None


def draw_around(
    model: SavedModel,
    data: TokenData,
    sampling: Sampling,
    kinds: Tensor,
    clamp: Clamp | None,
    seed: int,
    labels: Tensor | None = None,
    allowed: Allowed | None = None,
    finished: TensorJournal | None = None,
) -> Tensor:
    """Draw tokens [N, D] at positions of `kinds` [N, D], in blocks with a seed each.

    Tokens fixed by a `clamp` are kept, and the others end in their sets of `allowed` ones. `labels` [N] are the
    requested classes, if any. Blocks in the journal `finished` are not drawn again.
    """
    device, steps = next(model.network.parameters()).device, evaluations(model, data, sampling.steps)
    parts, drawn = torch.arange(len(kinds)).split(sampling.block), []
    with Progress("generating", len(parts) * steps) as progress:
        for number, rows in enumerate(parts):

            def advance(done: int, total: int, before: int = number * steps) -> None:
                progress.advance(before + done)

            def draw(number: int = number, rows: Tensor = rows, advance: OnProgress = advance) -> Tensor:
                _, generator = generators(derive_seed(seed, "block", number), device)
                given = clamp and Clamp(clamp.tokens[rows].to(device), clamp.fixed[rows].to(device), clamp.noised)
                of_part = None if labels is None else labels[rows]
                sets = allowed and Allowed(allowed.sets, allowed.which[rows]).on(device)
                positions = kinds[rows].to(device)
                part = draw_tokens(
                    model, data, sampling, positions, generator, advance, clamp=given, labels=of_part, allowed=sets
                )
                return part.tokens.cpu()

            drawn.append(draw() if finished is None else finished.once(f"block-{number}", draw))
    return torch.cat(drawn)


def draw_tokens(
    model: SavedModel,
    data: TokenData,
    sampling: Sampling,
    kinds: Tensor,
    generator: torch.Generator,
    progress: OnProgress | None = None,
    on_step: OnStep | None = None,
    clamp: Clamp | None = None,
    labels: Tensor | None = None,
    allowed: Allowed | None = None,
) -> Samples:
    """Draw tokens at positions of `kinds`, with at most one evaluation of the network per step, or one per token.

    A guided evaluation runs the network with and without the class, but counts once.
    """
    labels = None if labels is None else labels.to(kinds.device)
    if model.path is None:
        if clamp is not None and not bool((clamp.fixed.int().diff() <= 0).all()):
            run = f"run {model.description.run!r}"
            raise KinoflowError(f"{run}: is autoregressive and can only continue given tokens; choose another run")
        tokens = sample_in_order(
            model.network if labels is None else OfClasses(model.network, labels, data.classes, sampling.guidance),  # type: ignore[arg-type]
            data.vocabulary,
            kinds,
            generator=generator,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            given=clamp,
            allowed=allowed,
            progress=progress,
            on_step=on_step,
        )
        return Samples(tokens, data.length, torch.full((len(tokens),), data.length))
    seen = on_step
    if sampling.redraws and on_step:  # the last tokens are those after all rounds

        def seen(tokens: Tensor, t: float, on_step: OnStep = on_step) -> None:
            if t < 1:
                on_step(tokens, t)

    drawn = sample(
        model.posterior if labels is None else guided_posterior(model, data, sampling.guidance),
        model.path,
        kinds=kinds,
        steps=GRIDS.bind(sampling.grid.name, **sampling.grid.options)(model.path, sampling.steps),
        velocity=VELOCITIES.bind(sampling.velocity.name, **sampling.velocity.options),
        step=sampling.step.name,
        scheme=build_scheme(sampling.scheme.name, **sampling.scheme.options),
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        corrector=corrector_of(sampling.corrector),
        clamp=clamp,
        allowed=allowed,
        generator=generator,
        progress=progress,
        on_step=seen,
        labels=labels,
        way=sampling.way,
        answers_at=model.answers_at,
        ragged=model.ragged,
    )
    if not sampling.redraws:
        return drawn

    def again(rows: Tensor, given: Clamp) -> Samples:
        some = None if labels is None else labels[rows]
        sets = allowed and Allowed(allowed.sets, allowed.which[rows])
        once = sampling.model_copy(update={"redraws": 0})
        return draw_tokens(model, data, once, kinds[rows], generator, clamp=given, labels=some, allowed=sets)

    free = torch.ones_like(kinds, dtype=torch.bool) if clamp is None else ~clamp.fixed
    drawn = redraw(model, drawn, free, sampling.redraws, generator, again)
    if on_step:
        on_step(drawn.tokens, 1.0)
    return drawn


def guided_posterior(model: SavedModel, data: TokenData, guidance: float) -> Model:
    """Return the posterior given classes, guided away from that without a class."""

    def without(x: Tensor, t: Tensor, labels: Tensor, **given: Tensor) -> Tensor:
        return model.posterior(x, t, labels=torch.full_like(labels, data.classes), **given)

    return guided(model.posterior, without, guidance)


def evaluations(model: SavedModel, data: TokenData, steps: int) -> int:
    """Return how many evaluations of the network a block takes: one per step, or one per token."""
    return data.length if model.path is None else steps


class FrameRecorder:
    """Keeps the tokens at the first step at or after each of the given times."""

    def __init__(self, times: Sequence[float]) -> None:
        self._waiting = sorted(enumerate(times), key=lambda item: -item[1])
        self._kept: dict[int, Tensor] = {}

    def see(self, tokens: Tensor, t: float) -> None:
        """Keep the tokens at time t if a frame is due."""
        while self._waiting and self._waiting[-1][1] <= t:
            self._kept[self._waiting.pop()[0]] = tokens.cpu().clone()

    def frames(self, size: int, length: int) -> Tensor:
        """Return what was kept, in the order of the times, [F, N, D]."""
        kept = [self._kept[number] for number in sorted(self._kept)]
        return torch.stack(kept) if kept else torch.empty(0, size, length)
