"""What the commands about whole runs do; what they need is imported only then."""

import sys
from argparse import Namespace
from dataclasses import asdict

from pipeline.config_file import load_config, parse_setting


def preflight(arguments: Namespace) -> None:
    from pipeline.atomic import write_json
    from pipeline.preflight.check import preflight

    config = load_config(arguments.config, map(parse_setting, arguments.set))
    found = preflight(config, local=not arguments.cluster)
    if arguments.output is not None:
        write_json(arguments.output, asdict(found))
    sys.stdout.write(found.remarks_text())
    found.raise_problems(str(arguments.config))
    print(f"{arguments.config}: nothing is missing")


def trace(arguments: Namespace) -> None:
    from pipeline.atomic import write_json
    from pipeline.trace.graph import trace_artefact
    from pipeline.trace.show import as_json, as_text

    traced = trace_artefact(arguments.artefact)
    if arguments.json is not None:
        write_json(arguments.json, as_json(traced))
    sys.stdout.write(as_text(traced))
