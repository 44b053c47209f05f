"""The stages of the workflow: every module of this folder that declares one, see `declaration`.

Such a module has no docstring: that of its function says what it does, and is the help of its command.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.stages.declaration import Stage

_DECLARES = re.compile(r"^@stage\(", re.MULTILINE)
_COMMAND = re.compile(r"python -m pipeline ([a-z-]+)")


def load_stages() -> dict[str, Stage[Any]]:
    """Return all stages by name."""
    files = [file for file in sorted(Path(__file__).parent.glob("*.py")) if _DECLARES.search(file.read_text("utf-8"))]
    return {file.stem: getattr(importlib.import_module(f"{__name__}.{file.stem}"), file.stem) for file in files}


def stage_called(shell: str | None, stages: Mapping[str, Stage[Any]]) -> Stage[Any] | None:
    """Return the stage whose command a rule calls in its `shell:`; None if it calls none."""
    called = _COMMAND.search(shell or "")
    return stages.get(called[1].replace("-", "_")) if called else None
