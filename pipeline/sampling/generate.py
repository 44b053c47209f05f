"""The stages that draw samples from a trained run: one shard, and all shards together."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.config import Config
from pipeline.data.tokens import TokenData
from pipeline.devices import check_gpus
from pipeline.models.saved import load_network
from pipeline.provenance import inherit_provenance, write_provenance
from pipeline.sampling.blocks import blocks_of, draw_blocks
from pipeline.sampling.samples import SampleSet, joined
from pipeline.seeds import derive_seed


def sample_run(
    config: Config,
    experiment: str,
    run: str,
    *,
    tokens: Path,
    weights: Path,
    shard: int,
    shards: int,
    gpus: int,
    output: Path,
) -> None:
    """Draw one shard of a run's samples."""
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    check_gpus(gpus, "sampling")
    saved, sampling = load_network(weights, data, run), chosen.sampling
    seed = derive_seed(chosen.seed, experiment, run, "sampling")
    blocks = blocks_of(sampling.count, sampling.block, shard, shards)
    drawn, frames = draw_blocks(
        saved.network.to("cuda" if gpus else "cpu"), saved.path, data.length, sampling, seed, blocks
    )
    conditions = {
        "run": run,
        "path": label(saved.description.path.name, saved.description.path.options),
        "loss": label(saved.description.loss.name, saved.description.loss.options),
        "n": sampling.count,
        "NFE": sampling.steps,
        "velocity": label(sampling.velocity.name, sampling.velocity.options),
        "step": sampling.step.name,
        "corrector": label("", sampling.corrector.model_dump()).strip() if sampling.corrector else "none",
        "temperature": sampling.temperature,
        "seed": chosen.seed,
    }
    SampleSet(drawn, conditions, sampling.frames, frames).save(output)
    settings = sampling.model_dump(mode="json", exclude={"shards", "resources"})
    write_provenance([output], {"run": run, "sampling": settings}, chosen.seed, [tokens, weights])


def gather_shards(shards: Sequence[Path], output: Path) -> None:
    """Join the shards of a run, in the order given."""
    joined([SampleSet.load(path) for path in shards]).save(output)
    inherit_provenance(output, shards[0])


def label(name: str, options: dict[str, object]) -> str:
    """Return a name and its options as tables show them, such as `power (alpha=2.0)`."""
    given = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({given})" if given else name
