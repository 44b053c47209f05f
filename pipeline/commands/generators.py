"""What generates: a run of a configuration that is trained, or weights that bring their own configuration."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.commands.given import Given
from pipeline.config import Config
from pipeline.config.loading import load_config, parse_setting
from pipeline.config.problems import ConfigError
from pipeline.errors import KinoflowError


@dataclass(frozen=True)
class Generator:
    """A run, and the files of its network; codes have a tokenizer."""

    config: Config
    experiment: str
    run: str
    tokens: Path
    weights: Path
    tokenizer: Path | None = None


def of_weights(given: Given, name: str, command: str, experiment: str | None, run: str | None) -> Generator | None:
    """Return what `--weights` names, if it is not just a file from `train`; it has to be for the `command`."""
    if Path(name).is_file():
        return None
    from pipeline.weights.card import command_of
    from pipeline.weights.finding import folder_of
    from pipeline.weights.folder import CONFIG, NETWORK, TOKENS, Weights

    found = Weights.open(folder_of(name))
    for flag, value, own in (("experiment", experiment, found.index.experiment), ("run", run, found.index.run)):
        if value not in (None, own):
            raise KinoflowError(f"--{flag} {value}: --weights {name} are those of {own}; leave --{flag} out")
    try:
        # With settings over it, a configuration is checked: the mark of one that was checked is anybody's to write.
        config = load_config(found.file(CONFIG), [*map(parse_setting, given.settings), {}])
    except ConfigError as error:
        if given.settings:
            raise
        raise KinoflowError(f"--weights {name}: they are of another version of Kinoflow; {error}") from error
    own = f"{found.index.experiment}/{found.index.run}"
    if own not in [f"{name}/{one}" for name, block in config.experiments.items() for one in block.runs]:
        raise KinoflowError(f"--weights {name}: {found.file(CONFIG)} has no run {own}; get the folder again")
    if (right := command_of(config.experiments[found.index.experiment])) != command:
        raise KinoflowError(f"--weights {name}: they are for `{right}`, not for `{command}`; name others")
    files = (found.file(TOKENS), found.file(NETWORK), found.tokenizer)
    return Generator(config, found.index.experiment, found.index.run, *files)


def of_run(
    given: Given, experiment: str, run: str | None, tokens: Path | None, weights: str | None, tokenizer: Path | None
) -> Generator:
    """Return a run of the configuration, with the given files or those in the scale's results."""
    if run is None:
        raise KinoflowError("--run: name a trained run of the configuration, or weights with --weights")
    job = given.job(experiment, run)
    files = given.trained(job, tokens, None if weights is None else Path(weights))
    return Generator(given.config, experiment, run, *files, tokenizer or given.tokenizer(job))
