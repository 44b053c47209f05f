"""Where the workflow, its configurations and its environments lie: in a clone, or beside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "project"  # setup.py puts the folders there

SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
