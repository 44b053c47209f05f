from pathlib import Path

from pipeline.stages.parameters import HullPoints, Input, NewTable


def dft_collect(results: Path, *, structures: Input, hull: HullPoints, output: NewTable) -> None:
    """Collect DFT energies and fill in the DFT columns.

    Reads vasprun.xml from each folder, or a CSV of energies. Applies the corrections of the Materials Project.

    Args:
        results: folder from `dft-inputs` with finished calculations, or a .csv
        structures: table from `assess` or `evaluate-crystals`
    """
    from pipeline.crystals.dft import collect_dft

    collect_dft(results, structures, hull, output)
