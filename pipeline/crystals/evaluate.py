"""The evaluation of crystals from any source: the chain of the workflow in one call, from files to scores."""

from pathlib import Path

import pandas as pd

from pipeline.config import Config, Crystals
from pipeline.config.plugins import METRICS
from pipeline.crystals.assess import assess_rows, write_csv
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.describe import describe_rows
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.export import write_extxyz
from pipeline.crystals.hull import Hull, elements_of
from pipeline.crystals.hull_sources import FILES, build_hull, published_points
from pipeline.crystals.kept_descriptions import KeptDescriptions
from pipeline.crystals.metrics import CrystalEvidence
from pipeline.crystals.reading import read_structures
from pipeline.crystals.relaxation import relax_table
from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of
from pipeline.fetch.fetching import fetch_by_name
from pipeline.fetch.resource import FetchError
from pipeline.store.atomic import write_json
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import write_provenance
from pipeline.store.seeds import derive_seed

OF_CRYSTALS = ("crystal_validity", "crystal_coverage", "crystal_distributions", "crystal_stability")
SHOWN = ("id", "formula", "structural_valid", "composition_valid", "converged", "energy_above_hull", "unique", "novel")
SHOWN_ROWS = 30


def evaluate(
    config: Config,
    experiment: str,
    *,
    path: Path,
    relaxed: int | None,
    rows: Path | None,
    hull: Path | None,
    output: Path,
) -> dict[str, float]:
    """Write and print what is known about the structures in a file or folder, and return their scores.

    The first `relaxed` structures are relaxed; None: all of them. `rows` are the structures of a data set in its
    splits; without them there is no coverage, no Wasserstein distance and no novelty. Without `hull`, one is built; if
    its energies cannot be fetched, there is no stability. The folder gets structures.csv and .parquet, scores.json, the
    relaxed structures as relaxed.parquet and .extxyz, and described.parquet.
    """
    settings = config.experiments[experiment].crystals or Crystals()
    structures = read_structures(path)[list(CRYSTAL_COLUMNS)]
    references = _hull(config, settings, rows, hull, output / "hull.parquet")
    train, test = _references(config, settings, rows)
    described = describe_rows(structures, settings.workers, settings.seconds)
    relaxation = settings.relaxation.model_copy(update={"count": len(described) if relaxed is None else relaxed})
    crystals, table = output / "described.parquet", output / "relaxed.parquet"
    write_table(crystals, described)
    model = EnergyModel.of(settings.energy_model)
    journal = output / "journal"  # an earlier call may have left it
    relax_table(relaxation, config.seed, model=model, crystals=crystals, journal=journal, output=table)
    after = read_table(table)
    assessed = assess_rows(described, after, references, train, workers=settings.workers, seconds=settings.seconds)
    evidence, scores = CrystalEvidence(assessed, described, test), dict[str, float]()
    scoring, seed = config.experiments[experiment].scoring, derive_seed(config.seed, "evaluate-crystals")
    for name in dict.fromkeys([*OF_CRYSTALS, *scoring]):  # those of the experiment, if they need nothing but evidence
        if measure := METRICS.load(name).measure:
            scores |= measure(evidence, METRICS.options(name, scoring.get(name, {})), seed)
    files = {name: output / name for name in ("structures.parquet", "structures.csv", "relaxed.extxyz", "scores.json")}
    write_table(files["structures.parquet"], assessed)
    write_csv(files["structures.csv"], assessed)
    write_extxyz(files["relaxed.extxyz"], after)
    conditions = {"path": str(path), "n": len(assessed), "hull": references.description if references else None}
    conditions["energy model"] = model.label
    write_json(files["scores.json"], {"conditions": conditions, "metrics": scores})
    inputs = [file for file in (path, rows, hull) if file is not None and file.is_file()]
    write_provenance(files.values(), {"relaxed": relaxed, "crystals": settings.model_dump()}, config.seed, inputs)
    _show(assessed, scores, output)
    return scores


def _references(
    config: Config, settings: Crystals, rows: Path | None
) -> tuple[list[Crystal] | None, pd.DataFrame | None]:
    """Return the training structures and the description of the test structures."""
    if rows is None:
        print("no reference structures: coverage, Wasserstein distances and novelty are left out (give --rows)")
        return None, None
    known = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    usable = known[known["reason"] == ""]
    train = [crystal for crystal in crystals_of(usable[usable["split"] == "train"]) if crystal is not None]
    test = usable[usable["split"] == "test"].reset_index(drop=True)
    kept = KeptDescriptions(Path(config.data.cache))
    if len(missing := kept.missing(test)):
        print(f"describing {len(missing)} test structures of {rows}, for coverage and Wasserstein distances")
    return train, kept.complete(test, describe_rows(missing, settings.workers, settings.seconds))


def _hull(config: Config, settings: Crystals, rows: Path | None, hull: Path | None, output: Path) -> Hull | None:
    """Return the given hull, or build one from what is available, and write it for the next call."""
    if hull is not None:
        return Hull.load(hull)
    cache = Path(config.data.cache)
    if settings.hull is None:
        try:
            mirror = Path(config.data.mirror) if config.data.mirror else None
            fetch_by_name("formation_energies", cache, config.data.order, mirror)
        except FetchError as error:
            print(f"no hull: stability is left out ({error})")
            return None
        if rows is None:
            points = published_points([cache / name for name in FILES], settings.workers)
            built = Hull([*points, *elements_of(points)], f"{len(points)} published formation energies")
            built.save(output)
            return built
    build_hull(settings, config.seed, cache, rows=rows or output, output=output)
    return Hull.load(output)


def _show(assessed: pd.DataFrame, scores: dict[str, float], output: Path) -> None:
    shown = assessed[[name for name in SHOWN if name in assessed]].head(SHOWN_ROWS)
    reasons = assessed["reason"].where(assessed["reason"] != "", assessed["relax_reason"])
    print(shown.assign(reason=reasons.head(SHOWN_ROWS)).to_string(index=False, na_rep="", float_format="%.3f"))
    if len(assessed) > len(shown):
        print(f"... and {len(assessed) - len(shown)} more structures in {output / 'structures.csv'}")
    print()
    for name, value in scores.items():
        low, high = scores.get(f"{name}_low"), scores.get(f"{name}_high")
        if not name.endswith(("_low", "_high")):
            interval = "" if low is None or high is None else f"  % [{low:.1f}, {high:.1f}]"
            print(f"{name:32} {value:10.4g}{interval}")
