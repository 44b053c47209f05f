"""How much does a whole training step cost over the bare step of its network?

The bare step is the forward pass for all tokens, a plain cross-entropy of the same logits, the backward pass and the
optimiser. The whole step is that of the training loop: batch, noise, the loss of the run, the clipped gradient, the
moving average and all checks. It asks the network only where x1 is uncertain, so it may cost less. Networks, runs and
batches are those of the demo, the tokens are random.
"""

import tempfile
import time
from copy import deepcopy
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.timing import Comparison
from pipeline.config import Run
from pipeline.config.loading import load_config
from pipeline.config.plugins import DATASETS
from pipeline.crystals.tokens import layout
from pipeline.flow.checks import deferred_checks
from pipeline.inspect.plan.shapes import Shape, shape_of
from pipeline.networks.objective import Objective, objective_of
from pipeline.networks.saved import is_told_classes, new_network
from pipeline.tokens.token_data import TokenData
from pipeline.training.batches import LabelledRows, PaddedRows, Rows
from pipeline.training.checkpoint import Checkpoints
from pipeline.training.loop import fit
from pipeline.training.processes import new_fabric

DEMO = Path(__file__).parents[1] / "config" / "demo.yaml"
STEPS = 12
SEQUENCES = 512


def answers(steps: int = STEPS, experiments: tuple[str, ...] = ()) -> list[Comparison]:
    """Compare both steps for each run of the demo's experiments that trains a network."""
    config = load_config(DEMO)
    found = []
    for name in experiments or config.experiments:
        block = config.experiments[name]
        data_set = DATASETS.chosen(block.data)
        max_atoms = data_set.options.model_dump().get("max_atoms")
        data = random_tokens(shape_of(name, block), max_atoms, data_set.plugin.distances(data_set.options))
        for run, chosen in block.runs.items():
            if not chosen.weights:
                found += [step_of(f"{name}, {run}", chosen, data, steps)]
        if max_atoms:
            run, chosen = next((run, chosen) for run, chosen in block.runs.items() if chosen.path is not None)
            found += [step_of(f"{name}, {run}, batches of similar size", chosen, data, steps, similar=True)]
    return found


def random_tokens(shape: Shape, max_atoms: int | None, distances: Tensor | None) -> TokenData:
    """Return random tokens of an experiment's shape; crystals have any number of atoms."""
    generator = torch.Generator().manual_seed(0)
    kinds = torch.zeros(SEQUENCES, shape.length, dtype=torch.int64)
    if max_atoms:
        kinds = layout(torch.randint(1, max_atoms + 1, (SEQUENCES,), generator=generator), max_atoms)
    tokens = torch.zeros_like(kinds)
    for kind in range(shape.vocabulary.kinds):
        possible = (shape.vocabulary.kind_of.values == kind).nonzero().squeeze(-1)
        drawn = possible[torch.randint(len(possible), kinds.shape, generator=generator)]
        tokens = torch.where(kinds == kind, drawn, tokens)
    labels = torch.randint(max(1, shape.classes), (SEQUENCES,), generator=generator)
    return TokenData(
        tokens,
        tokens[:1],
        tokens[:1],
        shape.vocabulary,
        {},
        distances=distances,
        embeddings=None if max_atoms else torch.randn(shape.vocabulary.size, 8, generator=generator),
        grid=shape.grid,
        labels={"train": labels} if shape.classes else {},
        classes=shape.classes,
    )


def step_of(case: str, run: Run, data: TokenData, steps: int, similar: bool = False) -> Comparison:
    """Compare the two steps of a run."""
    torch.manual_seed(0)
    network, told = new_network(run.model, data), is_told_classes(run.model)
    rows: Rows = LabelledRows(data.train, data.labels["train"]) if told else data.train
    rows = PaddedRows(data.train, data.lengths()) if similar else rows
    validation = rows[torch.zeros(1, dtype=torch.int64)]
    seldom = {"log_every": steps, "validate_every": steps, "checkpoint_every": steps, "steps": steps}
    training = run.training.model_copy(update=seldom)
    turns = Turns(objective_of(run, data, network, conditional=told), network, run, data.length)
    fabric = new_fabric(training, 0, "")
    with tempfile.TemporaryDirectory() as folder:
        fit(
            fabric,
            network,
            turns,
            rows,
            validation,
            training,
            0,
            Checkpoints(Path(folder), "a"),
            around=deferred_checks,
        )
    whole, bare = turns.whole[2:], turns.bare[2:]  # the first ones set things up
    ratios = [one / other for one, other in zip(whole, bare, strict=True)]
    seconds = (median(whole), median(bare))
    return Comparison(case, ("whole step", "bare step"), median(ratios), min(ratios), max(ratios), seconds)


class Turns:
    """An objective that runs a bare step before each step, and keeps the CPU seconds of both."""

    def __init__(self, objective: Objective, network: nn.Module, run: Run, length: int) -> None:
        self._objective, self._network, self._autoregressive = objective, deepcopy(network), run.path is None
        self._optimiser = torch.optim.AdamW(self._network.parameters(), fused=True)
        self._length, self._since = length, 0.0
        self.whole: list[float] = []
        self.bare: list[float] = []

    def __call__(self, network: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
        before = time.process_time()
        if self._since:
            self.whole.append(before - self._since)
        if network.training:
            self._bare_step(rows)
            self.bare.append(time.process_time() - before)
        self._since = time.process_time()
        return self._objective(network, rows, generator)

    def _bare_step(self, rows: Tensor) -> None:
        x1 = rows[:, : self._length]
        x1 = functional.pad(x1, (0, self._length - x1.shape[1]), value=int(x1[0, -1]))  # batches with all their pads
        given: dict[str, Any] = {"labels": rows[:, -1]} if rows.shape[1] > self._length else {}
        times = () if self._autoregressive else (torch.rand(len(x1)),)
        logits = self._network(x1, *times, **given)
        functional.cross_entropy(logits.flatten(0, 1), x1.flatten()).backward()
        self._optimiser.step()
        self._optimiser.zero_grad()
