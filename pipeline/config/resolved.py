"""The configuration as jobs read it: with all runs and values, in a file that holds its own checksum.

The configuration was checked before the file was written. If the checksum is right, it is not checked again. An edited
file is treated like any other configuration.
"""

import hashlib
import json
import re
from pathlib import Path

import yaml
from pydantic import ValidationError

from pipeline.config.experiments import Config
from pipeline.store.atomic import write_text

_MARK = "# Resolved and checked; jobs only read this file. It is checked again if it is edited. SHA-256: {}\n"
_FIRST_LINE = re.compile(re.escape(_MARK.rstrip("\n")).replace(r"\{\}", "([0-9a-f]{64})"))
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first one is in C, and faster


def write_config(path: Path, config: Config) -> None:
    """Write a configuration with all its values; a file that already holds them is left alone."""
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    text = _MARK.format(_checksum(text)) + text
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def read_resolved(path: Path) -> Config | None:
    """Return the configuration if `write_config` wrote the file and nobody edited it; None otherwise."""
    try:
        mark, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    found = _FIRST_LINE.fullmatch(mark)
    if found is None or found[1] != _checksum(text):
        return None
    try:
        return Config.model_validate_json(json.dumps(yaml.load(text, Loader=_Loader)))
    except ValidationError:  # another version of this project wrote it
        return None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
