"""What the commands about whole runs do; what they need is imported only then."""

import sys
from argparse import Namespace
from dataclasses import asdict

from pipeline.config.loading import load_config, parse_setting


def preflight(arguments: Namespace) -> None:
    from pipeline.inspect.preflight.check import preflight
    from pipeline.store.atomic import write_json

    config = load_config(arguments.config, map(parse_setting, arguments.set))
    found = preflight(config, local=not arguments.cluster)
    if arguments.output is not None:
        write_json(arguments.output, asdict(found))
    sys.stdout.write(found.remarks_text())
    found.raise_problems(str(arguments.config))
    print(f"{arguments.config}: nothing is missing")


def trace(arguments: Namespace) -> None:
    from pipeline.inspect.trace.graph import trace_artefact
    from pipeline.inspect.trace.show import as_json, as_text
    from pipeline.store.atomic import write_json

    traced = trace_artefact(arguments.artefact)
    if arguments.json is not None:
        write_json(arguments.json, as_json(traced))
    sys.stdout.write(as_text(traced))
