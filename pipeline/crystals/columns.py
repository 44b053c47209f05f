"""What the columns of a table of structures mean, each with its unit. The README beside the table is made from this."""

from collections.abc import Iterable

MEANINGS: dict[str, tuple[str, str]] = {  # column: unit, meaning
    "id": ("", "name of the structure: its file or, in a table, its own id"),
    "reason": ("", "why the structure cannot be used; empty if it can"),
    "formula": ("", "numbers of atoms in the cell"),
    "atoms": ("", "atoms in the cell"),
    "elements": ("", "different elements"),
    "density": ("g/cm^3", "density as given, before relaxation"),
    "structural_valid": ("", "whether no two atoms are within 0.5 A and the cell has at least 0.1 A^3"),
    "structural_valid_peers": ("", "the same as the peers' code decides it"),
    "composition_valid": ("", "whether charges can balance, by SMACT's oxidation states of 2014"),
    "composition_valid_default": ("", "the same by SMACT's present default"),
    "composition_valid_peers": ("", "the same as the peers' code decides it, with 2014's states"),
    "valid": ("", "whether structure and composition are valid"),
    "space_group": ("", "number of the space group as given, within 0.1 A; 0: not found"),
    "space_group_relaxed": ("", "number of the space group after relaxation, within 0.2 A; 0: not found"),
    "attempted": ("", "whether the structure was to be relaxed; rates of stability are shares of these"),
    "relaxed": ("", "whether a relaxation was run; never for what cannot be used"),
    "converged": ("", "whether all forces came below the limit of the configuration"),
    "relax_reason": ("", "why the relaxation did not converge or was not run; empty if it converged"),
    "steps": ("", "steps of the relaxation"),
    "rmsd": ("A", "root mean square of how far atoms moved, without the change of the cell"),
    "energy_per_atom": ("eV/atom", "energy after relaxation, with the corrections of the Materials Project"),
    "formation_energy": ("eV/atom", "energy relative to the elements"),
    "hull_energy": ("eV/atom", "formation energy of the published hull at this composition"),
    "energy_above_hull": (
        "eV/atom",
        "energy above the hull that decides: that of the energy model, or the published one",
    ),
    "energy_above_published_hull": ("eV/atom", "formation energy above the hull of published DFT energies"),
    "uncertainty": ("eV/atom", "68 % of the model's absolute errors are at most this, in this chemistry"),
    "verdict": ("", "stable, unstable, or within the error: nearer to the hull than the uncertainty; empty if unknown"),
    "verdict_reason": ("", "why there is no verdict; empty if there is one"),
    "hull_reason": ("", "why there is no energy above the hull; empty if there is one"),
    "stable": ("", "whether the energy is below the hull, with at least two elements"),
    "stable_converged": ("", "the same, if the relaxation converged"),
    "stable_published": ("", "the same by the published hull, converged or not"),
    "metastable": ("", "whether it is at most 0.1 eV/atom above the hull, with at least two elements"),
    "unique": ("", "whether the structure is the first of its kind in the table"),
    "kind": ("", "id of the first structure of the same kind; empty if it could not be compared"),
    "novel": ("", "whether it is unlike all training structures"),
    "known_as": ("", "id of the training structure that it is a copy of; empty if there is none"),
    "listed_as": ("", "id of a known crystal outside of the training set that it is a copy of; empty if there is none"),
    "sun": ("", "whether it is the first of its kind among the stable and novel structures"),
    "msun": ("", "whether it is the first of its kind among the metastable and novel structures"),
    "match_reason": ("", "why the structure could not be compared with others; empty if it could"),
    "dft_energy_per_atom": ("eV/atom", "corrected energy by density functional theory"),
    "dft_formation_energy": ("eV/atom", "the same relative to the elements"),
    "dft_energy_above_hull": ("eV/atom", "the same above the hull"),
    "dft_stable": ("", "whether it is below the hull, with at least two elements"),
    "dft_reason": ("", "why there is no such energy; empty if there is one"),
}
OF_JUDGES: dict[str, tuple[str, str]] = {  # by how the name of the column begins; it ends with the name of the judge
    "energy_above_hull_": (
        "eV/atom",
        "energy above the judge's own hull, of the crystal as it was relaxed",
    ),
    "verdict_": ("", "the verdict by this energy"),
}


def readme(columns: Iterable[str]) -> str:
    """Return a table in Markdown of the columns that are there, with unit and meaning."""
    lines = ["| column | unit | meaning |", "|---|---|---|"]
    for name in columns:
        of_judge = next((said for begin, said in OF_JUDGES.items() if name.startswith(begin)), ("", ""))
        unit, meaning = MEANINGS.get(name, of_judge)
        lines.append(f"| `{name}` | {unit} | {meaning} |")
    return "\n".join(lines) + "\n"
