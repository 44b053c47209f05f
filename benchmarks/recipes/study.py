"""The recipes of a study, and what each of them reaches."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml

from pipeline.config import Config
from pipeline.config.expansion import merge
from pipeline.config.loading import load_config, parse_setting
from pipeline.crystals.peers import composition_valid_peers, structural_valid_peers
from pipeline.crystals.tokens import decode
from pipeline.fetch.fetching import fetch_by_name
from pipeline.flow.checks import deferred_checks
from pipeline.flow.losses import LOSSES
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.objective import FlowObjective, objective_of
from pipeline.networks.saved import load_network, new_network, path_for
from pipeline.sampling.blocks import draw_around
from pipeline.sampling.layouts import draw_layouts
from pipeline.stages.job import Job, RunJob
from pipeline.stages.prepare import prepare
from pipeline.stages.prepare_images import prepare_images
from pipeline.stages.prepare_pixels import prepare_pixels
from pipeline.stages.train import train
from pipeline.store.atomic import replacing
from pipeline.store.provenance import settings_hash
from pipeline.tokens.token_data import TokenData
from pipeline.training.batches import Batches, PaddedRows, Rows
from pipeline.training.gradients import add_gradients
from pipeline.training.loop import validation_loss
from pipeline.training.processes import new_fabric

TRIED = 12  # steps by which the number of steps is found; as many before them do not count
ROUND = 50  # the number of steps is a multiple
RUN = "recipe"
CONFIG = Path(__file__).parents[2] / "config"


@dataclass(frozen=True)
class Study:
    """A configuration, and what each recipe changes in a run of it."""

    name: str
    folder: Path
    scale: str
    experiment: str
    settings: list[str]
    base: dict[str, Any]
    minutes: float
    samples: int
    recipes: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, file: Path, folder: Path, minutes: float | None) -> "Study":
        """Return the study of a file."""
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
        return cls(file.stem, folder, **given | ({"minutes": minutes} if minutes else {}))

    def table(self) -> pd.DataFrame:
        """Return all rows so far."""
        path = self.folder / "tables" / f"{self.name}.csv"
        return pd.read_csv(path) if path.exists() else pd.DataFrame({"recipe": [], "minutes": [], "settings": []})

    def measured(self, name: str) -> dict[str, Any]:
        """Return the row of a recipe; train it first if it is not in the table."""
        table, described = self.table(), yaml.safe_dump(self.recipes[name], default_flow_style=True, width=1000).strip()
        same = (table["recipe"] == name) & (table["minutes"] == self.minutes)
        if (same & (table["settings"] == described)).any():
            return dict(table[same].iloc[-1])
        row = {"recipe": name, "minutes": self.minutes, "settings": described, **self._reached(name)}
        table = pd.concat([table[~same], pd.DataFrame([row])])
        with replacing(self.folder / "tables" / f"{self.name}.csv") as temporary:
            table.to_csv(temporary, index=False, float_format="%.5g")
        return row

    def job(self, recipe: dict[str, Any], steps: int | None = None) -> RunJob:
        """Return the training by a recipe."""
        run = merge(self.base, recipe)
        if steps:
            run = merge(run, {"training": {"steps": steps, "log_every": ROUND, "validate_every": max(steps // 4, 1)}})
        runs = {"experiments": {self.experiment: {"runs": {RUN: run}}}}
        config = load_config(CONFIG / f"{self.scale}.yaml", [*map(parse_setting, self.settings), runs])
        return RunJob(config, self.experiment, RUN)

    def _tokens(self, config: Config) -> Path:
        path = self.folder / "tokens" / f"{self.name}.safetensors"
        if not path.exists():
            job, data = Job(config, self.experiment), config.data
            for name in job.data.files:
                fetch_by_name(name, job.cache, data.order, Path(data.mirror) if data.mirror else None, data.checksums)
            if job.is_images:
                images = path.with_name(f"{self.name}-images.safetensors")
                prepare_images(job, output=images)
                prepare_pixels(job, images=images, output=path)
            else:
                prepare(job, output=path)
        return path

    def _reached(self, name: str) -> dict[str, Any]:
        job = self.job(self.recipes[name])
        tokens = self._tokens(job.config)
        data = TokenData.load(tokens)
        hashed = settings_hash({"run": job.run.model_dump(mode="json"), "minutes": self.minutes})
        files = self.folder / "runs" / self.name / f"{name}-{hashed[:8]}"
        noted = files / "steps"
        if not noted.exists():
            files.mkdir(parents=True, exist_ok=True)
            noted.write_text(str(max(ROUND, int(60 * self.minutes / seconds_a_step(job, data)) // ROUND * ROUND)))
        job = self.job(self.recipes[name], int(noted.read_text()))
        paths = {key: files / key for key in ("checkpoints", "weights", "metrics", "history")}
        before = time.process_time()
        if not paths["weights"].exists():
            train(job, tokens=tokens, **paths)
        row = {"steps": job.run.training.steps, "core_minutes": (time.process_time() - before) / 60}
        saved = load_network(paths["weights"], data, RUN)
        row["parameters"] = sum(parameter.numel() for parameter in saved.network.parameters())
        answers_at = isinstance(saved.network, Denoiser) and saved.network.answers_at
        for column, run, loss in (
            ("validation_loss", self.job({}).run, "cross_entropy"),
            ("bound", job.run, "mixture_elbo"),
        ):
            path, tokens = path_for(run.path, data), data.tokens_per_sequence()
            judge = FlowObjective(path, LOSSES.get(loss), 0.999, tokens, answers_at)
            with torch.no_grad(), deferred_checks():
                row[column] = validation_loss(saved.network, judge, data.validation, 64, seed=0)
        if self.samples:
            row |= self._valid(job, saved, data)
        return row

    def _valid(self, job: RunJob, saved: Any, data: TokenData) -> dict[str, float]:
        """Return the shares of valid crystals."""
        kinds = draw_layouts(data, self.samples, torch.Generator().manual_seed(0))
        with torch.no_grad():
            drawn = draw_around(saved, data, job.run.sampling, kinds, None, seed=0)
        crystals = [decode(row).crystal for row in drawn]
        structure = [crystal is not None and structural_valid_peers(crystal) for crystal in crystals]
        composition = [crystal is not None and composition_valid_peers(crystal.composition) for crystal in crystals]
        both = [all(pair) for pair in zip(structure, composition, strict=True)]
        shares = {"structure": structure, "composition": composition, "both": both}
        return {f"{key}_valid": sum(values) / len(values) for key, values in shares.items()}


def seconds_a_step(job: RunJob, data: TokenData) -> float:
    """Return the CPU seconds of a training step."""
    run = job.run
    network = new_network(run.model, data)
    objective = objective_of(run, data, network)
    fabric = new_fabric(run.training, 0, "gpus")
    model, optimiser = fabric.setup(network, torch.optim.AdamW(network.parameters(), lr=1e-6, fused=True))
    rows: Rows = PaddedRows(data.train, data.lengths()) if run.training.batches == "similar_size" else data.train
    batches, start = Batches(rows, run.training.batch, 0, run.training.parts), 0.0
    model.train()
    for step in range(2 * TRIED):
        if step == TRIED:
            start = time.process_time()
        with deferred_checks():
            add_gradients(fabric, model, objective, batches.at(step), 0, step)
        optimiser.step()
        optimiser.zero_grad()
    return (time.process_time() - start) / TRIED
