"""A hash of what makes the results page: the page is built again when it changes."""

import hashlib
from pathlib import Path

from pipeline.store.code import code_hash

MADE_BY = "pipeline.commands.report_page"


def page_version() -> str:
    """Return the hash of the code and of the files of the site."""
    found = hashlib.sha256(code_hash(MADE_BY).encode())
    for folder in ("site", "vendor"):
        for file in sorted(Path(__file__).with_name(folder).iterdir()):
            found.update(file.read_bytes())
    return found.hexdigest()
