from pipeline.stages.parameters import Input, Output


def dft_inputs(*, structures: Input, relaxed: Input, output: Output, threshold: float = 0.1) -> None:
    """Write VASP inputs for crystals near the hull.

    Writes one folder per crystal, with the settings of the Materials Project. Without a licence, potentials are only
    named.

    Args:
        structures: table from `assess` or `evaluate-crystals`
        relaxed: table from `gather-relaxed` or `evaluate-crystals`
        output: folder for the inputs
        threshold: largest energy above the hull, in eV/atom
    """
    from pipeline.crystals.dft import write_dft_inputs

    write_dft_inputs(structures, relaxed, output, threshold)
