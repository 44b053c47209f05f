from pipeline.stages.parameters import Input, OutputFolder


def dft_inputs(
    *, structures: Input, relaxed: Input, output: OutputFolder, threshold: float = 0.1, duplicates: bool = False
) -> None:
    """Write VASP inputs for crystals near the hull.

    Writes one folder per crystal, with the settings of the Materials Project, a job script to edit, and a manifest that
    says what is left out and why. Without a licence, potentials are only named.

    Args:
        structures: table from `assess` or `evaluate-crystals`
        relaxed: table from `gather-relaxed` or `evaluate-crystals`
        output: folder for the inputs
        threshold: largest energy above the hull, in eV/atom
        duplicates: all crystals of a kind get inputs, not only the lowest
    """
    from pipeline.crystals.dft import write_dft_inputs

    write_dft_inputs(structures, relaxed, output, threshold, duplicates)
