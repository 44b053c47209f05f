"""The evaluation of crystals from any source: the chain of the workflow in one call, from files to scores."""

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import Config, Crystals
from pipeline.config.plugins import METRICS
from pipeline.crystals import findings, resuming
from pipeline.crystals.assess import assess_rows, write_csv
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.energy_model import EnergyModel
from pipeline.crystals.export import ranked, write_cif_zip, write_extxyz
from pipeline.crystals.hull import Hull, elements_of
from pipeline.crystals.hull_sources import FILES, build_hull, published_points
from pipeline.crystals.hulls import hulls_of
from pipeline.crystals.judging import judge_table
from pipeline.crystals.kept_descriptions import KeptDescriptions, hash_of
from pipeline.crystals.known_copies import known_sets, with_listed
from pipeline.crystals.metrics import CrystalEvidence
from pipeline.crystals.protocol_table import protocol_rows, protocol_text, write_protocols
from pipeline.crystals.reading import check_some_usable, read_structures
from pipeline.crystals.symmetry import TOLERANCE_RELAXED
from pipeline.crystals.table import CRYSTAL_COLUMNS, crystals_of
from pipeline.fetch.fetching import fetch_by_name
from pipeline.fetch.resource import FetchError
from pipeline.store.atomic import write_json, write_text
from pipeline.store.parquet import read_table, write_table
from pipeline.store.provenance import known_hash, write_provenance
from pipeline.store.seeds import derive_seed

OF_CRYSTALS = (
    *("crystal_validity", "crystal_coverage", "crystal_distributions", "crystal_stability"),
    "crystal_symmetry",
)
FILES_WRITTEN = {
    "summary.md": "this evaluation to read: conditions, scores, structures",
    "README.md": "the meaning of all columns",
    "structures.csv": "one row per structure; structures.parquet has the same",
    "structures.parquet": "the same table for programs, and for `dft-inputs`",
    "ranked.zip": "relaxed crystals as CIF files, the lowest above the hull first",
    "relaxed.extxyz": "relaxed crystals in the order of the table",
    "relaxed.parquet": "the same with forces and steps, for `dft-inputs`",
    "protocols.md": "rates of stable, unique and new crystals as others count them; also as .csv and .json",
    "described.parquet": "structures as given, with their fingerprints",
    "judged.parquet": "energies of the relaxed crystals by the judges of the configuration",
    "scores.json": "scores with their intervals, and what they depend on",
}


def evaluate(
    config: Config,
    experiment: str,
    *,
    path: Path,
    relaxed: int | None,
    rows: Path | None,
    hull: Path | None,
    output: Path,
    known: Sequence[str] | None = None,
    workers: int | None = None,
    steps: int | None = None,
) -> dict[str, float]:
    """Write and print what is known about the structures in a file or folder, and return their scores.

    The first `relaxed` structures are relaxed; None: all of them. `rows` are the structures of a data set in its
    splits; without them there is no coverage, no Wasserstein distance and no novelty. Without `hull`, one of published
    energies is built; if these cannot be fetched, only the hull on the energy model's own scale counts. `known` names
    sets of other known crystals; None: those at hand. What the folder gets is in :data:`FILES_WRITTEN`. Its folder
    `journal` has what is finished, for a later call, until all is.
    """
    settings = with_choices(config.experiments[experiment].crystals or Crystals(), workers, steps)
    model = EnergyModel.of(settings.energy_model)  # an error before any work if it is not installed
    judges, judged = [EnergyModel.of(judge) for judge in settings.judges], output / "judged.parquet"
    structures = read_structures(path)[list(CRYSTAL_COLUMNS)]
    check_some_usable(path, structures)
    others = known_sets(config.data, rows, known)
    looked_in = ", ".join(f"{len(one.crystals)} of {one.name}" for one in others)
    references = _hull(config, settings, rows, hull, output / "hull.parquet")
    journal = output / "journal"
    train, test = _references(config, settings, rows, journal)
    described = resuming.describe(structures, settings, journal)
    after = resuming.relax(described, len(described) if relaxed is None else relaxed, settings, config.seed, journal)
    write_table(output / "relaxed.parquet", after)
    if judges:
        judge_table(
            *(judges, config.seed),
            relaxed=output / "relaxed.parquet",
            journal=journal / "judging",
            output=judged,
            workers=settings.workers,
            seconds=settings.seconds,
            keep=True,
        )
    hulls = hulls_of(
        model, judges, published=references, judged=judged if judges else None, cache=Path(config.data.cache)
    )
    compared = (
        hash_of(described),
        hash_of(after),
        after["energy_per_atom"].notna().tolist(),
        known_hash(rows) if rows else "",
    )
    assessed = assess_rows(
        *(described, after, hulls, train),
        workers=settings.workers,
        seconds=settings.seconds,
        finished=resuming.journal_of(journal, "matching", "pipeline.crystals.assess", compared),
    )
    assessed = with_listed(
        *(assessed, described, after, others),
        workers=settings.workers,
        seconds=settings.seconds,
        finished=resuming.journal_of(journal, "listed", "pipeline.crystals.known_copies", compared, looked_in),
    )
    evidence, scores = CrystalEvidence(assessed, described, test), dict[str, float]()
    scoring, seed = config.experiments[experiment].scoring, derive_seed(config.seed, "evaluate-crystals")
    for name in dict.fromkeys([*OF_CRYSTALS, *scoring]):  # those of the experiment, if they need nothing but evidence
        if measure := METRICS.load(name).measure:
            scores |= measure(evidence, METRICS.options(name, scoring.get(name, {})), seed)
    conditions = {
        "path": str(path),
        "n": len(assessed),
        "energy model": model.label,
        "judges": ", ".join(judge.label for judge in judges) or None,
        **hulls.conditions,
        "training set": f"{len(train)} structures of {rows}" if train is not None else None,
        "known crystals": looked_in or None,
    }
    write_table(output / "described.parquet", described)
    write_table(output / "structures.parquet", assessed)
    write_csv(output / "structures.csv", assessed)
    write_extxyz(output / "relaxed.extxyz", after)
    write_json(output / "scores.json", {"conditions": conditions, "metrics": scores})
    files = dict(FILES_WRITTEN)
    if "energy_above_hull" in assessed:
        write_cif_zip(output / "ranked.zip", ranked(assessed, after), TOLERANCE_RELAXED)
    else:
        del files["ranked.zip"]
    if not judges:
        del files["judged.parquet"]
    protocols = protocol_rows(
        *(assessed, after, train),
        hull=hulls.conditions["hull"] or "none",
        energy_model=model.label,
        workers=settings.workers,
        seconds=settings.seconds,
    )
    tables = (output / f"protocols.{kind}" for kind in ("csv", "md", "json"))
    write_protocols({path.name: protocols}, *tables)
    write_text(output / "summary.md", findings.summary(conditions, assessed, scores, files))
    write_text(output / "README.md", findings.explanation(assessed, files))
    inputs = [file for file in (path, rows, hull) if file is not None and file.is_file()]
    what = {"relaxed": relaxed, "crystals": settings.model_dump()}
    write_provenance((output / name for name in files), what, config.seed, inputs)
    shutil.rmtree(journal)
    _show(
        conditions,
        assessed,
        scores,
        protocol_text(protocols),
        {str(output / name): what for name, what in files.items()},
    )
    return scores


def with_choices(settings: Crystals, workers: int | None, steps: int | None) -> Crystals:
    """Return the settings with another number of processes and of steps of a relaxation, if they are given."""
    chosen = {key: value for key, value in {"workers": workers, "steps": steps}.items() if value is not None}
    relaxation = settings.relaxation.model_copy(update=chosen)
    return settings.model_copy(update={"workers": workers or settings.workers, "relaxation": relaxation})


def _references(
    config: Config, settings: Crystals, rows: Path | None, journal: Path
) -> tuple[list[Crystal] | None, pd.DataFrame | None]:
    """Return the training structures and the description of the test structures, if there are any."""
    if rows is None:
        print("no reference structures: coverage, Wasserstein distances and novelty are left out (give --rows)")
        return None, None
    known = read_table(rows, [*CRYSTAL_COLUMNS, "split"])
    usable = known[known["reason"] == ""]
    train = [crystal for crystal in crystals_of(usable[usable["split"] == "train"]) if crystal is not None]
    test = usable[usable["split"] == "test"].reset_index(drop=True)
    if test.empty:
        return train, None
    kept = KeptDescriptions(Path(config.data.cache))
    if len(missing := kept.missing(test)):
        print(f"describing {len(missing)} test structures of {rows}, for coverage and Wasserstein distances")
    return train, kept.complete(test, resuming.describe(missing, settings, journal, "test"))


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
            print(f"no published hull: energies above it are left out ({error})")
            return None
        if rows is None:
            points = published_points([cache / name for name in FILES], settings.workers)
            built = Hull([*points, *elements_of(points)], f"{len(points)} published formation energies")
            built.save(output)
            return built
    build_hull(settings, config.seed, cache, rows=rows or output, output=output)
    return Hull.load(output)


def _show(
    conditions: Mapping[str, Any],
    assessed: pd.DataFrame,
    scores: Mapping[str, float],
    protocols: str,
    files: Mapping[str, str],
) -> None:
    hull = conditions["hull"] or "none, so nothing is said about stability"
    print()
    new = " and ".join(filter(None, (conditions["training set"], conditions["known crystals"])))
    novelty = f"new: unlike {new}" if new else "new: nothing to compare with (give --rows or --known)"
    for line in (f"hull: {hull}", f"energy model: {conditions['energy model']}", novelty, ""):
        print(textwrap.fill(line, findings.WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    print("\n".join([*findings.table(assessed), "", *findings.unusable(assessed)]))
    for name, value, interval in findings.with_intervals(scores):
        print(f"{name:32} {findings.number_text(value):>10}  {interval}".rstrip())
    print(f"\n{protocols}\n")
    for name, what in files.items():
        print(f"{name}: {what}")
