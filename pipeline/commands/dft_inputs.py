"""VASP inputs for crystals near the hull."""

from pipeline.stages.parameters import Input, Output


def dft_inputs(*, structures: Input, relaxed: Input, output: Output, threshold: float = 0.1) -> None:
    """Write VASP inputs for crystals near the hull.

    One folder a crystal, as the Materials Project computes; the potentials by name where there is no licence.

    Args:
        structures: table from `assess` or `evaluate-crystals`
        relaxed: table from `gather-relaxed` or `evaluate-crystals`
        output: folder for the inputs
        threshold: most eV/atom above the hull
    """
    from pipeline.crystals.dft import write_dft_inputs

    write_dft_inputs(structures, relaxed, output, threshold)
