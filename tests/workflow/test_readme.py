"""Every command of the README and of the documentation runs, in a copy of the project whose scales are all tiny."""

import json
import re
import zipfile

import pandas as pd
import pytest
import yaml
from project import ROOT, Project
from tiny import TINY, TINY_LATENTS, TINY_MATERIALS, TINY_PIXELS, TINY_TEXT, write_rhymes, write_salts

# The README first: it makes what other pages use.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [
    line.partition("  #")[0].strip()
    for page in PAGES
    for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL)
    for line in block.splitlines()
]
# Not as they stand: `make test` is what is running now, and there may be no SLURM to submit to, and no network.
INSTEAD = {
    "make test": "make --dry-run test",
    "snakemake --profile slurm": "snakemake --profile slurm --dry-run",
    "dvc repro": "python -m pipeline dvc --output dvc.yaml && dvc repro table_checkerboard figure_checkerboard",
}


@pytest.fixture(scope="module")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.copy_to(tmp_path_factory.mktemp("readme"))
    for part in ("Makefile", "slurm", "examples", "weights", "pyproject.toml", ".venv"):
        if (ROOT / part).exists():
            (project.folder / part).symlink_to(ROOT / part)
    experiment = TINY["experiments"]["checkerboard"]
    one_run = {"checkerboard": experiment | {"runs": {"metric": experiment["runs"]["metric"]}}}
    masked = {"path": {"name": "mask", "scheduler": "kinetic_optimal"}, "loss": "cross_entropy"}
    crystals = {"materials": TINY_MATERIALS | {"runs": {"mask_ko": masked}}}
    text = {"text": TINY_TEXT | {"data": TINY_TEXT["data"] | {"length": 48}}}
    metric = {"sweep": [], "search": None, "runs": {"metric": TINY_PIXELS["runs"]["metric"]}}
    images = {"pixels": TINY_PIXELS | metric, "latents": TINY_LATENTS | metric}
    write_salts(project.folder)
    write_rhymes(project.folder)
    for scale in ("demo", "small", "paper"):
        experiments = one_run | (crystals | text | images if scale == "demo" else {})
        content = yaml.safe_dump(TINY | {"scale": scale, "experiments": experiments})
        (project.folder / f"config/{scale}.yaml").write_text(content)
    bench = {
        "law": "exact",
        "distributions": 2,
        "few": 4,
        "many": 8,
        "paths": {"mask": {"name": "mask", "scheduler": "linear"}},
        "rows": [{"steps": [4, 8]}],
    }
    chains = {"data": {"name": "markov", "states": 3, "length": 3}, "oracle": bench}
    oracle = {"scale": "oracle", "results": "results", "experiments": {"short_chains": chains}}
    (project.folder / "config/oracle.yaml").write_text(yaml.safe_dump(oracle))
    assert project.run("git", "init", "--quiet").returncode == 0
    return project


def test_the_two_commands_come_first() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]


def test_the_registered_example_of_the_readme_is_that_of_the_file() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    file = (ROOT / "examples/plugins/path.py").read_text()
    for line in ('@PATHS.register("ring")', "def log_prob(x1", "torch.cos(angle), dim=-1)", "FunctionPath(vocabulary"):
        assert line in shown
        assert line in file


def test_every_command_runs(small_project: Project) -> None:
    """One test for all, in their order: later ones build on what earlier ones left."""
    for command in COMMANDS:
        if command.startswith("make") and not (ROOT / ".venv").exists():
            continue  # the tests run in an environment of another place; `make` would install a new one
        run = small_project.run("bash", "-c", INSTEAD.get(command, command))
        assert run.returncode == 0, f"{command}\n{run.stdout[-3000:]}"
        if command == "make demo":
            assert run.stdout.count("\n") <= 100, run.stdout
    for file in ("tables/checkerboard.csv", "tables/checkerboard.md", "figures/checkerboard.png"):
        assert (small_project.folder / "results/small" / file).exists()
        assert (small_project.folder / "results/demo" / file).exists()
    assert "mask" in (small_project.folder / "results/oracle/tables/short_chains_oracle.md").read_text()


def test_crystals_of_a_formula_have_exactly_its_elements(small_project: Project) -> None:
    """Of what the commands above have left."""
    made = pd.read_csv(small_project.folder / "results/NaCl/evaluated/structures.csv")
    assert len(made) == 8
    assert made["formula"].isin(["Na1Cl1", "Na2Cl2"]).all()
    assert (small_project.folder / "results/demo/tables/materials.csv").exists()


def test_text_is_filled_in_around_what_is_given(small_project: Project) -> None:
    """Of what the commands above have left."""
    lines = (small_project.folder / "results/letters/texts.jsonl").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    assert len(texts) == 2
    assert all(text.startswith("My fellow citizens") and text.endswith("God bless America.") for text in texts)
    assert (small_project.folder / "results/demo/texts/text/mask_ko.txt").exists()


def test_images_of_a_class_are_generated(small_project: Project) -> None:
    """Of what the commands above have left."""
    with zipfile.ZipFile(small_project.folder / "results/sevens/images.zip") as archive:
        assert len(archive.namelist()) == 8
    scores = json.loads((small_project.folder / "results/sevens/scores.json").read_text())
    assert scores["conditions"]["n"] == 8
    assert scores["metrics"]["frechet_distance"] > 0
    assert (small_project.folder / "results/path.png").read_bytes().startswith(b"\x89PNG")
    assert (small_project.folder / "results/demo/tables/latents.csv").exists()


def test_every_file_that_a_page_links_to_exists() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_search_for_an_equation_finds_one_function() -> None:
    pattern = re.search(r'grep -rn "([^"]+)" pipeline/flow', (ROOT / "docs/mathematics.md").read_text())
    assert pattern is not None
    files = (ROOT / "pipeline/flow").rglob("*.py")
    assert sum(file.read_text().count(pattern.group(1)) for file in files) == 1
