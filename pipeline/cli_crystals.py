"""The commands for crystals: the stages of the workflow, and generation and evaluation on their own."""

import argparse
from collections.abc import Callable
from pathlib import Path

from pipeline import commands_crystals as commands
from pipeline.cli_arguments import (
    config_file,
    count,
    gpu_count,
    input_file,
    journal_folder,
    of_experiment,
    output_file,
    shard_numbers,
)

Add = Callable[[str, Callable[[argparse.Namespace], None], str, str], argparse.ArgumentParser]
KEPT = ("composition", "lattice", "sites")


def add_crystal_commands(add: Add) -> None:
    """Add the commands to a parser by its function `add`."""
    _add_stages(add)
    _add_tools(add)


def _add_stages(add: Add) -> None:
    stage = add(
        "decode",
        commands.decode,
        "turn samples into crystals",
        "Reads samples; writes a row a sample, with the reason where it is no crystal, and files for other programs.",
    )
    of_experiment(stage)
    input_file(stage, "--samples", "samples from `sample`, `gather` or `reference`")
    output_file(stage, "--output", "table to write (.parquet)")
    output_file(stage, "--extxyz", "crystals to write (.extxyz)")
    output_file(stage, "--cifs", "crystals to write (.zip of CIFs)")

    stage = add(
        "describe",
        commands.describe,
        "describe crystals: validity, density, fingerprints",
        "Reads a table of crystals; writes a row a crystal. What takes too long or fails is recorded with its reason.",
    )
    of_experiment(stage)
    input_file(stage, "--crystals", "table from `decode`, or of a data set's structures from `prepare`")
    stage.add_argument("--split", choices=("train", "validation", "test"), help="part of a data set to describe")
    journal_folder(stage)
    output_file(stage, "--output", "table to write (.parquet)")

    stage = add(
        "relax",
        commands.relax,
        "relax a shard of crystals with CHGNet",
        "Reads a table of crystals; writes energies and relaxed crystals. Goes on where an earlier call was stopped.",
    )
    of_experiment(stage)
    input_file(stage, "--crystals", "table from `decode`")
    shard_numbers(stage)
    output_file(stage, "--journal", "folder of finished rows, removed when the shard is finished")
    output_file(stage, "--output", "table to write (.parquet)")

    stage = add(
        "gather-relaxed", commands.gather_relaxed, "join relaxed shards", "Reads tables of all shards; writes one."
    )
    stage.add_argument("--shards", type=Path, nargs="+", required=True, help="tables from `relax`, in their order")
    output_file(stage, "--output", "table to write (.parquet)")

    stage = add(
        "hull",
        commands.hull,
        "build the convex hull of formation energies",
        "Reads published formation energies, or computed entries, and the data set's own; writes points.",
    )
    of_experiment(stage)
    input_file(stage, "--rows", "the data set's structures from `prepare`")
    output_file(stage, "--output", "hull to write (.parquet)")

    stage = add(
        "calibrate",
        commands.calibrate,
        "compare CHGNet and the hull with the data set's own energies",
        "Reads structures and hull; writes a row a comparison.",
    )
    of_experiment(stage)
    input_file(stage, "--rows", "the data set's structures from `prepare`")
    input_file(stage, "--hull", "hull from `hull`")
    output_file(stage, "--csv", "table to write, with all digits")
    output_file(stage, "--markdown", "table to write, rounded")
    output_file(stage, "--numbers", "numbers of our rows to write, to compare versions by (.json)")

    stage = add(
        "assess",
        commands.assess,
        "put together all that is known of each crystal",
        "Reads what earlier stages found; writes energies above the hull, stability, uniqueness and novelty.",
    )
    of_experiment(stage)
    input_file(stage, "--described", "table from `describe`")
    input_file(stage, "--relaxed", "table from `gather-relaxed`")
    input_file(stage, "--hull", "hull from `hull`")
    input_file(stage, "--rows", "the data set's structures from `prepare`")
    output_file(stage, "--output", "table to write (.parquet)")
    output_file(stage, "--csv", "the same to read (.csv)")


def _add_tools(add: Add) -> None:
    stage = add(
        "generate-crystals",
        commands.generate_crystals,
        "generate crystals around what is given",
        "Fixes a composition, or parts of a template, and fills in the rest with a trained run.",
    )
    config_file(stage)
    stage.add_argument("--experiment", help="experiment of the configuration (default: the one on crystals)")
    stage.add_argument("--run", required=True, help="name of a trained run with a path")
    stage.add_argument("--formula", help="composition to fix, e.g. LiFePO4")
    stage.add_argument("--units", type=count, help="formula units in a cell (default: every number that fits, in turn)")
    stage.add_argument("--template", type=Path, help="structure to fix parts of, instead of a formula (.cif, .extxyz)")
    stage.add_argument("--keep", nargs="+", choices=KEPT, default=["composition"], help="parts of the template to fix")
    stage.add_argument("--count", type=count, default=32, help="crystals to generate (default: %(default)s)")
    stage.add_argument("--seed", type=int, default=0, help="seed of the draws (default: %(default)s)")
    stage.add_argument("--tokens", type=Path, help="tokens from `prepare` (default: those of the results)")
    stage.add_argument("--weights", type=Path, help="weights from `train` (default: those of the results)")
    gpu_count(stage)
    output_file(stage, "--output", "folder for crystals.parquet, crystals.extxyz and crystals.zip")

    stage = add(
        "evaluate-crystals",
        commands.evaluate_crystals,
        "evaluate anybody's crystals",
        "Validity, coverage, relaxation, stability, uniqueness and novelty; one row a structure, then the scores.",
    )
    stage.add_argument("path", type=Path, help="folder or zip of CIFs, .cif, .extxyz, .csv with a cif column, .parquet")
    config_file(stage)
    stage.add_argument("--experiment", help="experiment of the configuration (default: the one on crystals)")
    stage.add_argument("--relax", type=count, help="structures to relax, from the first on (default: all)")
    stage.add_argument("--rows", type=Path, help="reference structures from `prepare` (default: those of the results)")
    stage.add_argument("--hull", type=Path, help="hull from `hull` (default: that of the results, or a new one)")
    output_file(stage, "--output", "folder for the tables, scores and relaxed crystals")

    stage = add(
        "dft-inputs",
        commands.dft_inputs,
        "write VASP inputs for crystals near the hull",
        "One folder a crystal, as the Materials Project computes; the potentials by name where there is no licence.",
    )
    input_file(stage, "--structures", "table from `assess` or `evaluate-crystals`")
    input_file(stage, "--relaxed", "table from `gather-relaxed` or `evaluate-crystals`")
    stage.add_argument("--threshold", type=float, default=0.1, help="most eV/atom above the hull (default: 0.1)")
    output_file(stage, "--output", "folder for the inputs")

    stage = add(
        "dft-collect",
        commands.dft_collect,
        "collect DFT energies and fill in the DFT columns",
        "Reads vasprun.xml of each folder, or a CSV of energies; applies the corrections of the Materials Project.",
    )
    stage.add_argument("results", type=Path, help="folder from `dft-inputs` with finished calculations, or a .csv")
    input_file(stage, "--structures", "table from `assess` or `evaluate-crystals`")
    input_file(stage, "--hull", "hull from `hull`")
    output_file(stage, "--output", "table to write (.parquet)")
