"""Build the results page: an `index.html` with its scripts, one file of data per experiment, and pictures.

It is opened as a file, from which browsers load no further data by request: so the data are scripts, too.
"""

import json
import math
import shutil
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.config import Config
from pipeline.page.contents import contents_of
from pipeline.store.atomic import write_text
from pipeline.store.provenance import code_version

HERE = Path(__file__).parent
SITE, VENDOR = HERE / "site", HERE / "vendor"
INDEX = "index.html"


def build_page(config: Config, results: Path, target: Path) -> list[str]:
    """Write the page of what is there of a scale's results, and return what is not there yet.

    `index.html` is written last: a page that is open goes on showing the old one until everything is in place.
    """
    for folder, name in ((SITE, "site"), (VENDOR, "vendor")):
        for file in sorted(folder.iterdir()):
            if file.name != INDEX:
                (target / name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target / name / file.name)
    missing, scripts = list[str](), list[str]()
    for experiment in config.experiments:
        contents = contents_of(config, experiment, results, target)
        missing += [f"{experiment}, {one}" for one in contents["missing"]]
        scripts.append(f"data/{experiment}.js")
        write_text(target / scripts[-1], f"KINOFLOW.experiments.push({as_json(contents)});\n")
    said = {"scale": config.scale, "version": __version__, "code": code_version(), "experiments": []}
    said |= {"built": datetime.now(UTC).isoformat(timespec="seconds"), "results": str(results)}
    write_text(target / "data/scale.js", f"const KINOFLOW = {as_json(said)};\n")
    lines = [f'<script src="{name}"></script>' for name in ("data/scale.js", *scripts)]
    index = (SITE / INDEX).read_text(encoding="utf-8")
    index = index.replace("SCALE", escape(config.scale)).replace("<!-- data -->", "\n    ".join(lines))
    write_text(target / INDEX, index)
    return missing


def as_json(value: Any) -> str:
    """Return a value as compact JSON; numbers that JSON lacks become null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
