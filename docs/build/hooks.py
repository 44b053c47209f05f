"""Pages that are made from other files of the repository, formulas as MathML, and links that lead out of the site."""

import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "config/README.md": "configuration.md"}  # and where they are in the site
EVIDENCE = "evidence.md"
LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)]*)?\)")
FORMULA = re.compile(r"(?<![\\$\w])\$([^$\n]+)\$(?![\w$])")
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from elsewhere, and the pictures that they show."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=relinked((ROOT / source).read_text("utf-8"), source)))
    files.append(File.generated(config, "api.md", content=api()))
    for picture in sorted((ROOT / "examples").glob("*.png")):
        files.append(File.generated(config, f"examples/{picture.name}", content=picture.read_bytes()))
    if (ROOT / "docs" / EVIDENCE).is_file():
        config.nav.append({"Evidence": EVIDENCE})
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links out of `docs` to the pages of the site, and write formulas as MathML."""
    if page.file.src_uri not in {*PAGES.values(), "api.md"}:
        markdown = relinked(markdown, f"docs/{page.file.src_uri}")
    parts = CODE.split(markdown)
    parts[::2] = [FORMULA.sub(lambda found: convert(found[1]), part) for part in parts[::2]]
    return "".join(parts)


def relinked(text: str, source: str) -> str:
    """Return a page with its links as they are in the site; a file that is not in it is named."""

    def link(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(source).parent / found[1])
        inside = target.removeprefix("docs/") if target.startswith("docs/") else PAGES.get(target)
        if inside is None and re.fullmatch(r"examples/\w+\.png", target):
            inside = target
        return f"]({inside}{found[2] or ''})" if inside else f"]{OUTSIDE}`{target}`)"

    return re.sub(rf"\[([^\]]*)\]{re.escape(OUTSIDE)}", r"\1 (", LINK.sub(link, text))


OUTSIDE = "\0"  # marks a link that becomes plain text


def api() -> str:
    """Return the reference of all public names, from their signatures and docstrings."""
    lines = ["# Python API", "", "`import kinoflow` has all of these names; they are imported on first use.", ""]
    for title, module in (("Crystals", "kinoflow.crystals"), ("Paths, velocities, sampling", "pipeline.flow.public")):
        lines += [f"## {title}", ""]
        found = importlib.import_module(module)
        for name in found.__all__:
            lines += [f"### {name}", "", *described(getattr(found, name)), ""]
    return "\n".join(lines)


def described(value: Any) -> list[str]:
    """Return the signature and the docstring of a function or class; of a value its type."""
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        listed = f": {', '.join(f'`{name}`' for name in value.names())}" if hasattr(value, "names") else ""
        return [f"`{type(value).__name__}`{listed}"]
    try:
        signature = re.sub(r"pipeline\.[\w.]+\.", "", f"{value.__name__}{inspect.signature(value)}")
    except ValueError:  # an exception has none
        signature = value.__name__
    text = inspect.getdoc(value) or ""
    prose, _, example = text.partition("\n\n>>> ")
    shown = ["", "```pycon", f">>> {example}", "```"] if example else []
    formula = re.sub(r"(?m)^( {4}.*)$", r"\1", prose)
    return ["```python", signature, "```", "", formula, *shown]
