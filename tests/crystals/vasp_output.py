"""The part of a vasprun.xml that says what was computed and what came of it, for rock salt."""

from collections.abc import Sequence


def vasprun(
    energy: float,
    symbols: Sequence[tuple[str, str]] = (("Na", "Na_pv"), ("Cl", "Cl")),
    *,
    hubbards: Sequence[float] = (),
    functional: str = "--",
    electronic_steps: int = 3,
    ionic_steps: int = 2,
) -> str:
    """Return the output of a relaxation with at most 10 electronic and 5 ionic steps."""
    atoms = "".join(f"<rc><c>{symbol}</c><c>{place + 1}</c></rc>" for place, (symbol, _) in enumerate(symbols))
    types = "".join(
        f"<rc><c>1</c><c>{symbol}</c><c>1.0</c><c>1.0</c><c>PAW_PBE {potential} 06Sep2000</c></rc>"
        for symbol, potential in symbols
    )
    plus_u = ""
    if hubbards:
        values = " ".join(map(str, hubbards))
        plus_u = f'<i type="logical" name="LDAU">T</i><v name="LDAUU">{values}</v><v name="LDAUJ">0 0</v>'
    energies = "".join(f'<i name="{name}">{energy}</i>' for name in ("e_fr_energy", "e_wo_entrp", "e_0_energy"))
    step = f"<scstep><energy>{energies}</energy></scstep>"
    forces = _vectors("forces", [[0, 0, 0]] * 2) + _vectors("stress", [[0, 0, 0]] * 3)
    calculation = (
        f"<calculation>{step * electronic_steps}{_structure()}{forces}<energy>{energies}</energy></calculation>"
    )
    return f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<modeling>
 <generator><i name="version" type="string">6.3.0</i></generator>
 <incar>{plus_u}<i type="int" name="NSW">5</i></incar>
 <kpoints>
  <generation param="Gamma"><v type="int" name="divisions">1 1 1</v><v name="usershift">0 0 0</v></generation>
  {_vectors("kpointlist", [[0, 0, 0]])}<varray name="weights"><v>1.0</v></varray>
 </kpoints>
 <parameters>
  <i type="int" name="NELM">10</i><i type="int" name="NSW">5</i><i type="int" name="IBRION">2</i>
  <i name="AEXX">0.0</i><i name="HFSCREEN">0.0</i><i type="logical" name="LHFCALC">F</i>
  <i type="string" name="GGA">{functional}</i><i type="logical" name="LDAU">{"T" if hubbards else "F"}</i>
 </parameters>
 <atominfo>
  <atoms>2</atoms><types>2</types>
  <array name="atoms"><set>{atoms}</set></array>
  <array name="atomtypes"><set>{types}</set></array>
 </atominfo>
 {_structure(' name="initialpos"')}
 {calculation * ionic_steps}
 {_structure(' name="finalpos"')}
</modeling>
"""


def _structure(name: str = "") -> str:
    cell = _vectors("basis", [[0, 2.8, 2.8], [2.8, 0, 2.8], [2.8, 2.8, 0]])
    return (
        f"<structure{name}><crystal>{cell}</crystal>{_vectors('positions', [[0, 0, 0], [0.5, 0.5, 0.5]])}</structure>"
    )


def _vectors(name: str, rows: Sequence[Sequence[float]]) -> str:
    lines = "".join(f"<v>{' '.join(map(str, row))}</v>" for row in rows)
    return f'<varray name="{name}">{lines}</varray>'
