"""Train each recipe of a study: `python -m benchmarks.recipes crystals [--minutes 6] [--only NAME ...]`.

Writes results/recipes/tables/<study>.csv and .png. Recipes that are in the table with the same settings are not trained
again, and a recipe that was stopped goes on from its checkpoint.
"""

import argparse
from pathlib import Path

import torch

from benchmarks.recipes.figure import draw
from benchmarks.recipes.study import Study

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "results" / "recipes"


def main() -> None:
    """Train the recipes of a study and write its table and figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipes", description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=sorted(file.stem for file in HERE.glob("*.yaml")))
    parser.add_argument("--minutes", type=float, help="core-minutes of each training (default: those of the study)")
    parser.add_argument("--only", nargs="+", help="names of recipes (default: all)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    study = Study.read(HERE / f"{given.study}.yaml", RESULTS, given.minutes)
    for name in given.only or study.recipes:
        if name not in study.recipes:
            parser.error(f"no recipe {name!r} in {given.study}.yaml; there are {', '.join(study.recipes)}")
        print(study.measured(name), flush=True)
    draw(study.table(), RESULTS / "tables" / f"{given.study}.png")


if __name__ == "__main__":
    main()
