"""The command line, `python -m pipeline <command> ...`: a command for each stage, and further ones.

A command is a function in a file of the same name, in `pipeline/stages` or `pipeline/commands`. Its signature gives the
flags, its docstring the help. Only the file of the command that runs is imported.
"""

import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from cyclopts import App, CycloptsError, Group, Parameter

from pipeline.commands.given import FLAGS, Flags
from pipeline.errors import KinoflowError, did_you_mean, without_secrets
from pipeline.stages.declaration import Stage
from pipeline.stages.parameters import FOLDER, READ, WRITTEN
from pipeline.store.atomic import BROKEN, FORBIDDEN, FULL
from pipeline.store.provenance import set_command
from pipeline.store.writable import check_distinct, check_file, check_folder

GROUPS = (
    ("Begin", ("init", "check", "plan", "preflight", "fetch", "train-crystals")),
    ("Generate and evaluate", ("generate-", "evaluate-", "dft-")),
    ("Look at results", ("trace", "show", "compare", "cost", "report-page", "serve")),
)
STAGES = "Stages of the workflow, which it calls in their order"
UPKEEP = "For the upkeep of a project"
ERROR = 2  # exit status of an error that is explained in one message
INTERRUPTED = 130  # as shells have it
GO_ON = "run the same again; it goes on from what is finished"
NO_MEMORY = ("can't allocate memory", "out of memory")  # what torch says


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # so that logs can be followed, and a kill loses no output
    set_command(given)
    try:
        application(given)(given, exit_on_error=False, print_error=False, result_action="return_value")
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(f"interrupted. To go on, {GO_ON}", file=sys.stderr)
        return INTERRUPTED
    except (KinoflowError, CycloptsError, OSError) as error:
        print(f"error: {without_secrets(message_of(error))}", file=sys.stderr)
        return ERROR
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in NO_MEMORY):
            raise
        reason = str(error).strip().splitlines()
        print(
            f"error: not enough memory ({reason[0] if reason else 'none is left'}); give smaller files, or lower "
            "counts, batches, blocks or sizes of networks",
            file=sys.stderr,
        )
        return ERROR
    return 0


def application(arguments: Sequence[str]) -> App:
    """Return an application with the command that the arguments name, or with all commands, to list them."""
    name = "kinoflow" if Path(sys.argv[0]).name == "kinoflow" else "python -m pipeline"
    app = App(name=name, help="Discrete flow matching, stage by stage.", help_format="markdown", version_flags=[])
    app.suppress_keyboard_interrupt = False  # `main` says how to go on
    modules = command_modules()
    word = arguments[0] if arguments else ""
    if word and not word.startswith("-") and word not in modules:
        raise KinoflowError(f"{word}: no such command; {did_you_mean(word, list(modules))}")
    for name in [word] if word in modules else modules:
        group = group_of(*place_of(name, modules[name]))
        app.command(as_command(name, modules[name]), name=name, group=group, sort_key=list(modules).index(name))
    return app


@cache  # Cyclopts wants the same object for all commands of a group
def group_of(place: int, title: str) -> Group:
    """Return a group of the help."""
    return Group(title, sort_key=place)


def place_of(name: str, module: str) -> tuple[int, str]:
    """Return the place and title of the group in which the help lists a command; stages come last."""
    if module.startswith(f"{__package__}.stages"):
        return len(GROUPS) + 1, STAGES
    chosen = [(place, title) for place, (title, starts) in enumerate(GROUPS) if name.startswith(starts)]
    return chosen[0] if chosen else (len(GROUPS), UPKEEP)


def command_modules() -> dict[str, str]:
    """Return the modules of all commands by name, stages first."""
    found = {}
    for folder in ("stages", "commands"):
        for file in sorted((Path(__file__).parent / folder).glob("*.py")):
            if re.search(rf"^def {file.stem}\(", file.read_text("utf-8"), re.MULTILINE):
                found[file.stem.replace("_", "-")] = f"{__package__}.{folder}.{file.stem}"
    return found


def as_command(name: str, module: str) -> Callable[..., None]:
    """Return a function for the command line: the job or configuration in the signature becomes flags."""
    target = getattr(importlib.import_module(module), name.replace("-", "_"))
    function: Callable[..., None] = target.function if isinstance(target, Stage) else target
    hints = get_type_hints(function, include_extras=True)
    parameters = [
        parameter.replace(annotation=hints[key]) for key, parameter in inspect.signature(function).parameters.items()
    ]
    flags = FLAGS.get(parameters[0].annotation) if parameters else None

    def command(*positional: Any, **options: Any) -> None:
        check_files(parameters, options)
        given = [options.pop("given", Flags()).loaded()] if flags else []
        function(*given, *positional, **options)

    if flags is not None:
        parameters[0] = inspect.Parameter(
            "given",
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[flags, Parameter(name="*")],
            default=Flags() if flags is Flags else inspect.Parameter.empty,
        )
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(sorted(parameters, key=lambda one: one.kind))  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def check_files(parameters: Sequence[inspect.Parameter], options: dict[str, Any]) -> None:
    """Stop before any work if an input file of the command is missing, or an output could not be written."""
    given: dict[str, list[tuple[str, Path]]] = {READ: [], WRITTEN: [], FOLDER: []}
    for parameter in parameters:
        marks = getattr(parameter.annotation, "__metadata__", ())
        for mark in (mark for mark in given if mark in marks):
            value, flag = options.get(parameter.name), f"--{parameter.name.replace('_', '-')}"
            paths = value if isinstance(value, list | tuple) else [value] if value else []
            given[mark] += [(flag, path) for path in paths]
    for _, path in given[READ]:
        if not path.is_file():
            raise KinoflowError(f"{path}: no such file; make it with the command that writes it (see --help)")
    for flag, path in given[WRITTEN]:
        check_file(flag, path)
    for flag, path in given[FOLDER]:
        check_folder(flag, path)
    check_distinct(given[WRITTEN], given[READ])


def message_of(error: Exception) -> str:
    """Return the message for the user; for a full or read-only disk it also says what to do."""
    if isinstance(error, OSError) and error.errno in FULL:
        return (
            f"{_place(error)}: {error.strerror}. Nothing half-written was left: free space (or raise the quota), then "
            f"{GO_ON}"
        )
    if isinstance(error, OSError) and error.errno in BROKEN:
        return f"{_place(error)}: {error.strerror}. Nothing half-written was left: see to the disk, then {GO_ON}"
    if isinstance(error, OSError) and error.errno in FORBIDDEN:
        return (
            f"{_place(error)}: {error.strerror}. Get permission for it, or name other directories with the keys "
            "`results` and `data.cache`, or other files"
        )
    return str(error)


def _place(error: OSError) -> str:
    return os.fsdecode(error.filename or "standard output")
