from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from pipeline.commands.given import Given


def serve(given: Given, *, port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 8000) -> None:
    """Show the results page with the progress of a run that is going on.

    Serves it on this machine only (127.0.0.1), until Ctrl-C. It reads the results and changes nothing.

    Args:
        port: port of the server; 0 takes any that is free
    """
    from pipeline.inspect.server import serve_page

    serve_page(given.config, given.results, port)
