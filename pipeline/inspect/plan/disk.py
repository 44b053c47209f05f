"""The disk space that an experiment needs, for files that are kept and for temporary ones."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.config import Experiment
from pipeline.fetch.catalogue import CATALOGUE
from pipeline.inspect.jobs import needed_files
from pipeline.inspect.plan.networks import Networks
from pipeline.inspect.plan.shapes import Shape
from pipeline.stages.job import Job
from pipeline.training.checkpoint import KEPT

FLOAT = INTEGER = 4  # bytes of a weight, and of a token of samples
MOMENTS = 2  # numbers that AdamW keeps for each parameter
COPIES = 2  # of the weights in a checkpoint: the last and the averaged ones


@dataclass(frozen=True)
class Need:
    """Bytes of one kind of file (None: not known before the data are read): kept or not, in data.cache or not."""

    what: str
    size: int | None
    kept: bool = True
    fetched: bool = False


def disk_of(job: Job, shape: Shape, networks: Networks) -> list[Need]:
    """Return what an experiment needs; files in data.cache that experiments share are counted for each."""
    needs = [*_fetched(job), *_data(job, shape), *_weights(networks), *_samples(job.block, shape)]
    return [need for need in needs if need.size != 0]


def _fetched(job: Job) -> Iterator[Need]:
    files = needed_files(job.config, job.experiment)
    sizes = [CATALOGUE[name].size if name in CATALOGUE else None for name in files]
    yield Need("fetched files", sum(filter(None, sizes)), fetched=True)
    if None in sizes:
        yield Need("fetched, size unknown", None, fetched=True)


def _data(job: Job, shape: Shape) -> Iterator[Need]:
    size, images = shape.vocabulary.size, shape.images
    bytes_each = 1 if size <= 2**8 else 2 if size <= 2**16 else 4
    tokens = _bytes([*shape.rows.values(), *[shape.rows["test"]] * shape.evaluation], shape.length * bytes_each)
    yield Need("tokens", tokens)
    if job.data.plugin.TEXT or job.block.tokenizer is not None:
        yield Need("tokens, being made", tokens, kept=False)
    if images is not None:
        pixels = _bytes(images.rows.values(), images.kept**2 * images.channels)
        yield Need("images", pixels)
        if job.data.inputs:  # the user's pictures are read through the cache
            yield Need("images, being read", pixels, kept=False)


def _bytes(rows: Iterable[int | None], each: int) -> int | None:
    known = list(rows)
    return None if None in known else sum(filter(None, known)) * each


def _weights(networks: Networks) -> Iterator[Need]:
    counts = [count for _, trained, count in networks.rows() for _ in range(trained)]
    stored, parameters = sum(count.stored for count in counts), sum(count.parameters for count in counts)
    discriminator = networks.tokenizer.discriminator if networks.tokenizer else None
    yield Need("weights", FLOAT * (stored - (discriminator.stored if discriminator else 0)))
    yield Need("checkpoints", KEPT * FLOAT * (COPIES * stored + MOMENTS * parameters))


def _samples(experiment: Experiment, shape: Shape) -> Iterator[Need]:
    runs, images = list(experiment.runs.values()), shape.images
    drawn = sum(run.sampling.count * shape.length * (1 + len(run.sampling.frames)) for run in runs)
    count, test = experiment.sampling.count, shape.rows["test"]
    held_out = count if test is None else min(count, test)
    references = {name: held_out if name in ("data", "images") else count for name in experiment.references}
    tokens = sum(number * shape.length for name, number in references.items() if name != "images")
    yield Need("samples", INTEGER * (drawn + tokens))
    yield Need("shards of samples", INTEGER * drawn, kept=False)
    if images is not None:
        shown = sum(run.sampling.count for run in runs) + sum(references.values())
        yield Need("pictures", shown * images.side**2 * images.channels)
