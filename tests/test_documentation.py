"""The documentation builds as a site, without a warning and without anything from the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning stops the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": ""}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_every_page_is_in_the_menu_and_was_built(site: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    pages = set(re.findall(r"[a-z_]+\.md", menu))
    written = {file.name for file in (ROOT / "docs").glob("*.md")} - {"evidence.template.md"}
    assert pages == written | {"index.md", "configuration.md", "api.md"}
    assert {f"{page.removesuffix('.md')}.html" for page in pages} <= {file.name for file in site.glob("*.html")}


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    for page in site.glob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"([^\"]+)\"", text)
        loaded += re.findall(r"<link[^>]* rel=\"(?:stylesheet|preload|icon)\"[^>]* href=\"([^\"]+)\"", text)
        assert not [address for address in loaded if address.startswith(("http", "//"))], page.name


def test_the_reference_has_every_key_and_every_public_name(site: Path) -> None:
    api, configuration = ((site / name).read_text("utf-8") for name in ("api.html", "configuration.html"))
    for name in ("MetricPath", "sample", "trained", "evaluate"):
        assert f">{name}<" in api
    assert "checkpoint_every" in configuration


def test_formulas_are_mathml(site: Path) -> None:
    text = (site / "tutorial_path.html").read_text("utf-8")
    assert "<math" in text
    assert "$p_t" not in text


def test_the_hours_of_the_papers_tables_are_those_of_its_experiments() -> None:
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs/paper.md").read_text()))
    assert set(yaml.safe_load((ROOT / "config/paper.yaml").read_text())["experiments"]) <= named
