import math
from pathlib import Path
from typing import Annotated, Any

from pipeline.commands.given import Given
from pipeline.errors import KinoflowError
from pipeline.stages.parameters import OptionalOutput, Positive, Texts


def reference_energies(
    given: Given,
    model: str = "chgnet",
    *,
    output: OptionalOutput = None,
    sources: Texts = ("mp20_part", "mp88k", "matbench_dielectric"),
    folder: Path | None = None,
    within: float = 0.03,
    margin: float = 0.02,
    steps: Positive = 200,
    force: float = 0.05,
    workers: Positive = 1,
    seconds: float = 600,
    finished: bool = False,
) -> None:
    """Compute the energies of known crystals by an energy model, for a hull on its own scale.

    Takes crystals that can lie on the hull by published energies. Relaxes those that lie on the model's own hull, or
    near it. Writes a table of energies. Resumes where an earlier call stopped.

    Args:
        model: energy model; one with options as in the configuration, such as '{name: sevennet, weights: 7net-0}'
        output: table to write (.parquet; default: in reference_energies in data.cache, where it is found)
        sources: groups of the catalogue, or files of structures; of an id in several, the first counts
        folder: folder of finished work, which is kept (default: reference_energies in data.cache)
        within: energy above the published hull of a composition, in eV/atom, to be taken; inf: all
        margin: energy above the model's hull, in eV/atom, to be relaxed
        steps: most steps of a relaxation
        force: largest force, in eV/A, on an atom of a relaxed crystal
        workers: processes, with one thread each
        seconds: most seconds for one crystal
        finished: compute nothing more, and write what is finished
    """
    from pydantic import TypeAdapter

    from pipeline.config import EnergyModelChoice, NameAlone
    from pipeline.config.plain_yaml import plain_yaml
    from pipeline.crystals.energy_model import EnergyModel
    from pipeline.crystals.reference_energies import FOLDER
    from pipeline.crystals.reference_table import make_references
    from pipeline.fetch.fetching import fetch_by_name
    from pipeline.store.locks import exclusive
    from pipeline.store.provenance import write_provenance

    try:
        choice = TypeAdapter(Annotated[EnergyModelChoice, NameAlone]).validate_python(plain_yaml(model))
    except ValueError as error:
        raise KinoflowError(f"--model {model}: no energy model ({error})") from error
    chosen, data = EnergyModel.of(choice), given.config.data
    cache, mirror = Path(data.cache), Path(data.mirror) if data.mirror else None
    found = {}
    for source in sources:
        path = Path(source)
        if path.is_file():
            found[path.name] = [path]
        else:
            found[source] = fetch_by_name(source, cache, data.order, mirror, data.checksums)
    if not found:
        raise KinoflowError("--sources: none given; give groups of the catalogue, such as mp20_part, or files")
    published = fetch_by_name("formation_energies", cache, data.order, mirror)
    settings: dict[str, Any] = {
        "within": within if math.isfinite(within) else None,
        "margin": margin,
        "steps": steps,
        "force": force,
    }
    folder, output = folder or cache / FOLDER, output or cache / FOLDER / f"{chosen.name}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"workers": workers, "seconds": seconds, "compute": not finished}
    with exclusive(folder / ".lock", f"computing energies by {chosen.label}"):
        make_references(chosen, found, published, folder=folder, output=output, **settings, **options)
    inputs = [*published, *(path for paths in found.values() for path in paths)]
    write_provenance([output], {"model": chosen.label} | settings, given.config.seed, inputs)
