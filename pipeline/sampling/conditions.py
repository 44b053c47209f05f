"""How samples are drawn: the result of a search, and what the tables say."""

from pathlib import Path
from typing import Any

from pipeline.config import Corrector, Sampling, StepChoice, VelocityChoice
from pipeline.config.plugins import MODELS
from pipeline.config.problems import problems_of
from pipeline.errors import KinoflowError
from pipeline.flow.schemes import build_scheme
from pipeline.networks.saved import SavedModel
from pipeline.store.atomic import read_json
from pipeline.tokens.token_data import TokenData


def found_sampling(sampling: Sampling, search: Path | None, run: str) -> Sampling:
    """Return the sampling of a run; a searched one gets the velocity, step and corrector that were found."""
    if sampling.searched != (search is not None):
        fix = "give the file with --search" if sampling.searched else "leave --search out"
        raise KinoflowError(f"run {run!r}: sampling.searched is {str(sampling.searched).lower()}; {fix}")
    if search is None:
        return sampling
    found = read_json(search)["found"]
    corrector = Corrector.model_validate(found["corrector"]) if found["corrector"] else None
    velocity, step = VelocityChoice.model_validate(found["velocity"]), StepChoice.model_validate(found["step"])
    return sampling.model_copy(update={"velocity": velocity, "step": step, "corrector": corrector})


def changed_sampling(sampling: Sampling, **given: float | None) -> Sampling:
    """Return a sampling with the values that flags give; they are checked as those of a configuration."""
    values = {key: value for key, value in given.items() if value is not None}
    changed, problems = problems_of(Sampling, sampling.model_dump(mode="json") | values, ("sampling",))
    if changed is None:
        raise KinoflowError("; ".join(map(str, problems)))
    return changed


def conditions_of(model: SavedModel, data: TokenData, sampling: Sampling, seed: int) -> dict[str, Any]:
    """Return what the tables say about how samples were drawn."""
    description = model.description
    drawn: dict[str, Any] = {"temperature": sampling.temperature, "seed": seed}
    drawn |= {key: value for key in ("top_k", "top_p") if (value := getattr(sampling, key)) is not None}
    drawn |= {"guidance": sampling.guidance} if model.is_told_classes else {}
    plugin, options = MODELS.load(description.model.name), description.model.options
    ours = {key: options[key] for key in plugin.OURS if options.get(key)}
    drawn |= {"model": label(description.model.name, ours)} if ours else {}
    drawn |= {"warning": description.warning} if description.warning else {}
    if description.path is None or description.loss is None:
        network = {"run": description.run, "path": "autoregressive", "loss": "next token"}
        return network | {"n": sampling.count, "NFE": data.length} | drawn  # one evaluation per token, pads included
    scheme = build_scheme(sampling.scheme.name, **sampling.scheme.options)
    return {
        "run": description.run,
        "path": label(description.path.name, description.path.options),
        "loss": label(description.loss.name, description.loss.options),
        "n": sampling.count,
        "NFE": sampling.steps * scheme.evaluations,
        "velocity": label(sampling.velocity.name, sampling.velocity.options),
        "step": sampling.step.name,
        **({} if sampling.scheme.name == "plain" else {"scheme": label(sampling.scheme.name, sampling.scheme.options)}),
        **({} if sampling.grid.name == "uniform" else {"grid": sampling.grid.name}),
        "corrector": corrector_label(sampling.corrector) if sampling.corrector else "none",
        **({"redraws": sampling.redraws} if sampling.redraws else {}),
        **({"searched": "yes"} if sampling.searched else {}),
        **drawn,
    }


def corrector_label(corrector: Corrector) -> str:
    """Return a corrector as tables show it, such as `velocity (weight=1.0, rise=1.0, fall=0.0, limit=0.5)`."""
    return label(corrector.kind.name, corrector.model_dump(exclude={"kind"}))


def label(name: str, options: dict[str, object]) -> str:
    """Return a name and its options as tables show them, such as `power (alpha=2.0)`."""
    given = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({given})" if given else name
