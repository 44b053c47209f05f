"""The stages that draw samples from a trained run: one shard, and all shards together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.config import Config, Corrector, Sampling, VelocityChoice
from pipeline.config.plugins import MODELS
from pipeline.errors import KinoflowError
from pipeline.networks.devices import check_gpus
from pipeline.networks.saved import SavedModel, load_network
from pipeline.sampling.blocks import blocks_of, draw_blocks, labels_of
from pipeline.sampling.samples import SampleSet, joined
from pipeline.store.atomic import read_json
from pipeline.store.code import modules_named
from pipeline.store.fingerprint import fingerprint
from pipeline.store.journal import Journal
from pipeline.store.provenance import gather_provenance, write_provenance
from pipeline.store.seeds import derive_seed
from pipeline.tokens.token_data import TokenData


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
    search: Path | None = None,
    journal: Path | None = None,
) -> None:
    """Draw one shard of a run's samples; runs with the same network begin with the same noise.

    `search` says which velocity and corrector a search has found, for a run that takes them from there. With the folder
    of a `journal`, sampling that was stopped goes on with the next block.
    """
    chosen, data = config.experiments[experiment].runs[run], TokenData.load(tokens)
    check_gpus(gpus, "sampling.resources.gpus")
    trained, sampling = chosen.weights or run, found_sampling(chosen.sampling, search, run)
    saved = load_network(weights, data, trained)
    seed = derive_seed(chosen.seed, experiment, trained, "sampling")
    saved.network.to("cuda" if gpus else "cpu")
    blocks = blocks_of(sampling.count, sampling.block, shard, shards)
    settings = {"run": run, "sampling": sampling.model_dump(mode="json", exclude={"shards", "resources"})}
    inputs = [tokens, weights, *([search] if search else [])]
    code = ["pipeline.sampling.generate", MODELS.module(saved.description.model.name)]
    code += modules_named(saved.description.path, saved.description.loss, sampling.velocity)
    finished = Journal(journal, fingerprint(settings | {"seed": seed}, inputs, *code)) if journal else None
    drawn, frames = draw_blocks(saved, data, sampling, seed, blocks, finished)
    conditions = conditions_of(saved, data, sampling, chosen.seed)
    conditions |= {"run": run, "weights": chosen.weights} if chosen.weights else {}
    samples = [number for block in blocks for number in sampling.numbers(block)]
    SampleSet(drawn, conditions, sampling.frames, frames, labels_of(saved, data, samples)).save(output)
    write_provenance([output], settings, chosen.seed, inputs)
    if finished:
        finished.remove()


def found_sampling(sampling: Sampling, search: Path | None, run: str) -> Sampling:
    """Return the sampling of a run with what a search has found, if it is to be taken from there."""
    if sampling.searched != (search is not None):
        fix = "give the file with --search" if sampling.searched else "leave --search out"
        raise KinoflowError(f"run {run!r}: sampling.searched is {str(sampling.searched).lower()}; {fix}")
    if search is None:
        return sampling
    found = read_json(search)["found"]
    corrector = Corrector.model_validate(found["corrector"]) if found["corrector"] else None
    velocity = VelocityChoice.model_validate(found["velocity"])
    return sampling.model_copy(update={"velocity": velocity, "corrector": corrector})


def conditions_of(model: SavedModel, data: TokenData, sampling: Sampling, seed: int) -> dict[str, Any]:
    """Return what the tables say of how samples were drawn."""
    description, drawn = model.description, {"temperature": sampling.temperature, "seed": seed}
    drawn |= {key: value for key in ("top_k", "top_p") if (value := getattr(sampling, key)) is not None}
    drawn |= {"guidance": sampling.guidance} if model.is_told_classes else {}
    if description.path is None or description.loss is None:
        network = {"run": description.run, "path": "autoregressive", "loss": "next token"}
        return network | {"n": sampling.count, "NFE": data.length} | drawn  # one evaluation a token, pads included
    return {
        "run": description.run,
        "path": label(description.path.name, description.path.options),
        "loss": label(description.loss.name, description.loss.options),
        "n": sampling.count,
        "NFE": sampling.steps,
        "velocity": label(sampling.velocity.name, sampling.velocity.options),
        "step": sampling.step.name,
        "corrector": label("", sampling.corrector.model_dump()).strip() if sampling.corrector else "none",
        **({"searched": "yes"} if sampling.searched else {}),
        **drawn,
    }


def gather_shards(shards: Sequence[Path], output: Path) -> None:
    """Join the shards of a run, in the order given."""
    joined([SampleSet.load(path) for path in shards]).save(output)
    gather_provenance(output, shards)


def label(name: str, options: dict[str, object]) -> str:
    """Return a name and its options as tables show them, such as `power (alpha=2.0)`."""
    given = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({given})" if given else name
