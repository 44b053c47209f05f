"""Hours that the work of a sheet takes, on kinds of GPUs and on this machine, and the limits that are too short."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.config import Config
from pipeline.config.loading import load_config
from pipeline.inspect.benchmarks import benchmark_rows
from pipeline.inspect.plan.disk import COPIES, MOMENTS
from pipeline.inspect.plan.measure import STEPS, Measured
from pipeline.inspect.plan.sheet import Sheet
from pipeline.inspect.plan.work import GPUS, Gpu, Work
from pipeline.store.provenance import read_record, sidecar_of
from pipeline.training.checkpoint import KEPT

PROCESSOR = 1e13  # FLOP/s in float32, more than processors reach
STEP = 1e-4  # seconds of a training step, however small the network is; they take ten times that
RESUMED = "it goes on from its checkpoints if it is started again"
MORE = {
    "train": f"or give it more GPUs; {RESUMED}",
    "train_tokenizer": f"or give it more GPUs; {RESUMED}",
    "train_classifier": RESUMED,
    "sample": "or spread it over more shards",
    "predict": "it goes on from its journal if it is started again",
    "search": "it goes on from its journal if it is started again",
}


def _least_seconds(work: Work) -> float:
    """Return the seconds that the longest job takes at least on any processor."""
    return max(work.longest * work.flops / PROCESSOR, STEP * work.steps)


@dataclass(frozen=True)
class Limit:
    """The longest job of a rule among those that share the key of their limit, and how long it takes."""

    work: Work
    hours: float
    names: int  # how many runs have such a job

    @property
    def allowed(self) -> float:
        """The hours that the job may take."""
        return self.work.resources.minutes / 60

    @property
    def warning(self) -> str:
        """What to change, if the job would be stopped before it is done."""
        work, needed = self.work, -(-int(self.hours * 60) // 10) * 10 + 10
        what = f"{work.experiment}: {work.rule}{f' of {work.name}' if work.name else ''}"
        change = f"set {work.key}.minutes to {needed} or more"
        more = f", {MORE[work.rule]}" if work.rule in MORE else ""
        return f"{what} takes about {self.hours:.3g} h, but may take {self.allowed:.3g} h; {change}{more}"


@dataclass(frozen=True)
class Estimate:
    """A sheet, the GPU that time limits are checked for, the share of its peak, and what was measured."""

    sheet: Sheet
    gpu: Gpu
    utilisation: float
    measured: list[Measured] = field(default_factory=list)
    finished: dict[tuple[str, str], float] = field(default_factory=dict)  # seconds of finished trainings

    def gpu_hours(self, works: Iterable[Work], gpu: Gpu) -> float:
        """Return the GPU-hours of some work on a kind of GPU."""
        return sum(work.gpu_hours(gpu, self.utilisation) for work in works)

    def hours_here(self, work: Work) -> float | None:
        """Return the hours of some work on one device of this machine; None if its network was not measured."""
        rates = {(entry.experiment, entry.network): entry.flops_per_second for entry in self.measured}
        rate = rates.get((work.experiment, work.network))
        return None if rate is None else work.flops / rate / 3600

    def limits(self) -> list[Limit]:
        """Return the longest job for each rule and key of its limit.

        Those with GPUs are on the chosen GPU, the others on this machine if measured.
        """
        jobs: dict[tuple[str, str, str], dict[str, tuple[Work, float]]] = {}
        for work in self.sheet.work:
            here = self.hours_here(work)
            if work.gpus or here is not None:
                hours = work.hours(self.gpu, self.utilisation) if work.gpus else work.longest * (here or 0)
                of_key = jobs.setdefault((work.experiment, work.rule, work.key), {})
                _, before = of_key.get(work.name, (work, 0.0))  # a job may run a network for several metrics
                of_key[work.name] = work, before + hours
        longest = [(max(of_key.values(), key=lambda entry: entry[1]), len(of_key)) for of_key in jobs.values()]
        return [Limit(work, hours, names) for (work, hours), names in longest]

    def warnings(self) -> list[str]:
        """Return what should be changed before anything is started."""
        late = [limit.warning for limit in self.limits() if limit.hours > limit.allowed]
        return [*late, *self._beyond_processors(), *self._beyond_memory()]

    def _beyond_processors(self) -> Iterator[str]:
        """Yield what takes longer than it may on any processor, of the jobs that are not measured."""
        works = [work for work in self.sheet.work if not work.gpus and self.hours_here(work) is None]
        longest = {(work.experiment, work.rule): work for work in sorted(works, key=_least_seconds)}
        for work in longest.values():
            hours, allowed = _least_seconds(work) / 3600, work.resources.minutes / 60
            if hours > allowed:
                what = f"{work.experiment}: {work.rule} of {work.name} takes {hours:,.3g} h or more without a GPU"
                yield f"{what}, but may take {allowed:,.3g} h; lower steps, batch, count or network, or ask for GPUs"

    def _beyond_memory(self) -> Iterator[str]:
        """Yield the trainings on processors that need more memory than they may have."""
        for work in self.sheet.work:
            needed = math.ceil(work.memory / 1e6)
            if not work.gpus and needed > work.resources.memory_mb:
                what = f"{work.experiment}: {work.rule} of {work.name} needs {needed:,} MB or more"
                allowed = f"but may have {work.resources.memory_mb:,} MB; set {work.key}.memory_mb"
                yield f"{what}, {allowed}, lower the batch or shrink the network"

    def assumptions(self) -> list[str]:
        """Return what the numbers assume and what they leave out, in words."""
        peaks = "; ".join(
            f"{gpu.name} {gpu.float32 / 1e12:g} and {f'{gpu.bfloat16 / 1e12:g}' if gpu.bfloat16 else 'none'} "
            f"({gpu.source})"
            for gpu in GPUS.values()
        )
        sheets = self.sheet.experiments.values()
        uncounted = sorted({metric for sheet in sheets for metric in sheet.uncounted})
        measured = (
            f"Measured: {STEPS - 2} training steps of each network on made-up data, by the training loop itself; "
            "sampling and scoring here are taken at the same FLOP/s, on one device. A tokenizer is measured if "
            "data.cache has the weights of its LPIPS."
        )
        return [
            "Jobs are those of an empty results folder; files that data.cache has already are not fetched again.",
            "FLOPs are those of matrix products, convolutions and attention, two for each multiplication. Elementwise "
            "work (norms, softmax, noise, losses, rates of paths, drawing) is not counted. Causal attention is counted "
            "in full, though it is half.",
            "A training step is three forward passes of its batch; validations are counted where their rows are known. "
            "The VQVAE: three of its own, LPIPS with the gradients of one image, eight of the discriminator once it "
            "starts.",
            "Sampling is one forward pass per step in which a token of the sample may jump, on average over samples of "
            "the full length (as many atoms as there may be), with made-up frequencies of tokens where a path needs "
            "them. It is one pass per step with a corrector, for sampling that a search chooses, and where chances are "
            "not known (metric paths) or too many (frequencies of a large vocabulary). It is two passes with guidance. "
            "An autoregressive network caches keys and values and takes one pass for all tokens together. Sweeps and "
            "searches are counted.",
            "GPU-hours = FLOPs / (peak x utilisation). The utilisation is assumed to be "
            f"{self.utilisation:g} of the peak in all work (--utilisation); token-by-token sampling, small networks "
            "and several nodes reach less. Waiting, loading and writing are not counted.",
            f"Peaks in TFLOP/s of dense matrices, float32 and bfloat16: {peaks}. bf16-mixed on a GPU without bfloat16 "
            "is taken at its float32 peak. Training follows training.precision; sampling, scoring and encoding compute "
            "in float32 (convolutions may be faster: PyTorch lets them use TF32).",
            *([f"Not counted: the networks from elsewhere of {', '.join(uncounted)}."] if uncounted else []),
            *(["Not counted: relaxation of crystals, and their energies."] if self.sheet.jobs["relax"] else []),
            f"Checkpoints hold {COPIES} copies of the weights (last and averaged) and {MOMENTS} moments for each "
            f"parameter, in float32; the last {KEPT} of each training are kept. Shards are assumed to exist for all "
            "runs at once. Logs, tables, figures, texts, relaxed crystals and packages are not counted.",
            *([measured] if self.measured else []),
            *(f"{note}." for sheet in sheets for note in sheet.shape.notes),
        ]


def finished_trainings(config: Config) -> dict[tuple[str, str], float]:
    """Return the seconds of each (experiment, run) that was trained with the same settings as now, in one go.

    Snakemake has noted them beside the results; those of a training that was resumed cover only its last part.
    """
    folder = Path(config.results) / config.scale
    if not (folder / "config.yaml").is_file():
        return {}
    before = load_config(folder / "config.yaml", choices=False)
    found = {}
    for name, experiment in config.experiments.items():
        old = before.experiments.get(name)
        for run, chosen in experiment.runs.items():
            then = old.runs.get(run) if old and old.data == experiment.data else None
            same = then is not None and (then.training, then.model) == (chosen.training, chosen.model)
            file, weights = folder / f"benchmarks/train/{name}/{run}.tsv", folder / f"models/{name}/{run}.safetensors"
            resumed = sidecar_of(weights).is_file() and read_record(weights).get("resumed")
            if same and file.is_file() and not resumed:
                found[name, run] = float(benchmark_rows(file)[0]["s"])
    return found
