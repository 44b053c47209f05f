"""What tests of several folders share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import TINY


@pytest.fixture
def tiny_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the tiny configuration, with changes, and returns its path."""

    def write(changes: dict[str, Any] | None = None) -> Path:
        from pipeline.config_file import merge

        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(merge(TINY, changes or {})))
        return path

    return write
