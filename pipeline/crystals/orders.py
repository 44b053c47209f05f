"""Orders: what is given about crystals to generate, as a template for each of them.

What must hold is fixed before the network is asked, or is a set of tokens that it may draw from, so no crystal breaks
an order. These are the laws:

- Number of atoms: as often as in the training set, of the numbers that are possible; if it has none of these, all are
  equally likely. A formula gives its multiples in turn.
- Only some elements: each element is drawn from them by the network (`pipeline.flow.allowed`).
- Required elements: each is given to one atom, and the network sees it there. So crystals with many atoms of a required
  element come more often than their share among the crystals that have it.
- Charge neutrality: a composition is drawn first, given the number of atoms, and the network fills in the rest. In a
  chemical system every neutral composition has the weight 1 + its count in the training set; otherwise its count.

Elements are given to the first atoms, because atoms have no order. If sites of a structure are kept, atoms differ, and
the elements are given to random ones.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from pipeline.crystals import tokens as crystal_tokens
from pipeline.crystals.compositions import draw, laws_of_compositions, training_compositions, training_sizes
from pipeline.crystals.crystal import Crystal
from pipeline.crystals.elements import SYMBOLS
from pipeline.crystals.limits import Limits, range_text
from pipeline.crystals.reading import read_structures
from pipeline.crystals.table import crystals_of
from pipeline.crystals.templates import Kept, Template, blank, cells_of, check_symbols, from_structure, spread
from pipeline.errors import KinoflowError
from pipeline.tokens.token_data import TokenData

Given = tuple[int, list[int]]  # the number of atoms, and elements for some of them besides those that are kept


@dataclass(frozen=True)
class Order:
    """What a user gives, as on the command line."""

    formula: str | None = None
    units: int | None = None
    template: Path | None = None
    keep: Sequence[str] = ()
    chemical_system: str | None = None
    elements: Sequence[str] = ()
    exclude: Sequence[str] = ()
    atoms: str | None = None
    charge_neutral: bool = False

    def __post_init__(self) -> None:
        if self.keep and self.template is None:
            raise KinoflowError("--keep: there is nothing to keep; give --template")
        if self.formula is not None:
            check_symbols(self.formula)
        if self.units is not None and self.formula is None:
            raise KinoflowError("--units: there is nothing to multiply; give --formula")

    @property
    def parts(self) -> Sequence[str]:
        """The parts of the template that are kept."""
        return self.keep or ("composition",)

    def limits(self, max_atoms: int) -> Limits:
        """Return the limits of the crystals."""
        return Limits.of(
            max_atoms=max_atoms,
            chemical_system=self.chemical_system,
            elements=self.elements,
            exclude=self.exclude,
            atoms=self.atoms,
            charge_neutral=self.charge_neutral,
        )

    def record(self) -> dict[str, Any]:
        """Return the order as it is recorded with its results."""
        return asdict(self) | {"template": self.template and self.template.name, "keep": sorted(self.keep)}


@dataclass(frozen=True)
class Plan:
    """The template of each crystal, the limits of all of them, and what the user should know."""

    templates: list[Template]
    limits: Limits
    notes: list[str]


def plan(order: Order, data: TokenData, count: int, generator: torch.Generator) -> Plan:
    """Return the plan for `count` crystals from a network that was trained on `data`."""
    max_atoms, rounding = data.origin["max_atoms"], data.origin["rounding"]
    limits = order.limits(max_atoms)
    crystal = None if order.template is None else _crystal_in(order.template)
    kept = None if crystal is None else Kept.of(order.parts, len(crystal.numbers))
    given: Counter[int] = Counter(crystal.numbers[kept.elements].tolist() if crystal and kept else ())
    least: Counter[int] = given | Counter(dict.fromkeys(limits.required, 1))
    sizes = _possible_sizes(order, limits, crystal, kept, least)
    notes: list[str] = []
    if order.formula is not None:
        further = _of_formula(order, limits, sizes, max_atoms, count)
    elif kept is not None and sizes == [len(kept.elements)]:
        if fault := limits.fault_of(given):
            raise KinoflowError(f"--keep {' '.join(order.parts)}: {fault}")
        further = [(sizes[0], [])] * count
    else:
        further, notes = _drawn(limits, sizes, given, least, data, count, generator)

    @cache
    def of_size(size: int) -> Template:
        if crystal is None:
            return blank(size, max_atoms)
        return from_structure(crystal, order.parts, rounding=rounding, max_atoms=max_atoms, atoms=size)

    at_random = generator if kept and kept.sites else None
    templates = [of_size(size).with_elements(numbers, at_random) for size, numbers in further]
    named = {z for _, numbers in further for z in numbers} | (limits.elements if limits.system else set())
    return Plan(templates, limits, notes + _unseen(named, data))


def _possible_sizes(
    order: Order, limits: Limits, crystal: Crystal | None, kept: Kept | None, least: Counter[int]
) -> list[int]:
    """Return the numbers of atoms that have room for what is given."""
    if crystal is None or kept is None:
        return [size for size in limits.sizes if size >= least.total()]
    atoms, words = len(crystal.numbers), " ".join(order.parts)
    if order.formula is not None and kept.elements:
        raise KinoflowError(f"--formula and --keep {words}: both give elements; keep the lattice or sites only")
    if foreign := set(crystal.numbers[kept.elements].tolist()) - limits.elements:
        symbol = SYMBOLS[min(foreign) - 1]
        raise KinoflowError(f"--keep {words}: {symbol} is not allowed (--chemical-system, --exclude); keep other atoms")
    if kept.all_atoms or (order.atoms is None and order.formula is None):
        if atoms not in limits.sizes:
            wrong = f"the structure has {atoms} atoms, not {range_text(limits.sizes)}"
            raise KinoflowError(f"--keep {words}: {wrong}; name some atoms, like composition:1-4, for another number")
        sizes = [atoms]
    else:
        sizes = list(limits.sizes)
    room = max(len(kept.atoms), least.total())
    if not (possible := [size for size in sizes if size >= room]):
        raise KinoflowError(f"--keep {words}: what is given needs {room} atoms, of at most {sizes[-1]}; keep fewer")
    return possible


def _of_formula(order: Order, limits: Limits, sizes: Sequence[int], max_atoms: int, count: int) -> list[Given]:
    """Return what is given of each crystal: the multiples of a formula in turn."""
    formula = order.formula or ""
    cells = cells_of(formula, formula_units=order.units, max_atoms=max_atoms)
    if fault := limits.fault_of(Counter(cells[0])):
        raise KinoflowError(f"--formula {formula}: {fault}")
    fitting = [numbers for numbers in cells if len(numbers) in sizes]
    if not fitting:
        possible = ", ".join(str(len(numbers)) for numbers in cells)
        raise KinoflowError(f"--formula {formula}: its cells have {possible} atoms, none of them {range_text(sizes)}")
    return [(len(numbers), numbers) for numbers in spread(fitting, count)]


def _drawn(
    limits: Limits,
    sizes: Sequence[int],
    given: Counter[int],
    least: Counter[int],
    data: TokenData,
    count: int,
    generator: torch.Generator,
) -> tuple[list[Given], list[str]]:
    """Return what is given of each crystal besides what is kept, drawn, and what to tell the user about it."""
    if not limits.neutral:
        drawn, notes = _drawn_sizes(sizes, data, count, generator)
        return [(size, sorted((least - given).elements())) for size in drawn], notes
    known = training_compositions(data)
    laws = laws_of_compositions(limits, sizes, least, known)
    if not laws:
        where = f"of {limits.system}" if limits.system else "in the training set"
        what = f"no composition {where} with {range_text(sizes)} atoms is neutral and has all that is given"
        raise KinoflowError(f"--charge-neutral: {what}; allow more, or name a --chemical-system")
    drawn, notes = _drawn_sizes(sorted(laws), data, count, generator)
    of_size = {size: iter(draw(laws[size], number, generator)) for size, number in Counter(drawn).items()}
    chosen = [next(of_size[size]) for size in drawn]
    seen, found = (sum(one in known for law in laws.values() for one in law), sum(map(len, laws.values())))
    notes.append(
        f"{found} charge-neutral compositions, {seen} of them in the training set; {len(set(chosen))} were drawn for "
        f"{count} crystals"
    )
    further = [sorted((Counter(dict(one)) - given).elements()) for one in chosen]
    return list(zip(drawn, further, strict=True)), notes


def _drawn_sizes(
    sizes: Sequence[int], data: TokenData, count: int, generator: torch.Generator
) -> tuple[list[int], list[str]]:
    """Return numbers of atoms as often as in the training set, and a note if it has none of them."""
    known = training_sizes(data)
    if weights := {size: known[size] for size in sizes if known[size]}:
        return draw(weights, count, generator), []
    note = f"the training set has no crystal of {range_text(sizes)} atoms"
    note += ": each number is equally likely" if len(sizes) > 1 else ""
    return draw(dict.fromkeys(sizes, 1), count, generator), [note]


def _unseen(named: Collection[int], data: TokenData) -> list[str]:
    """Return a note about elements of which the network knows nothing."""
    counts = data.counts()
    unseen = [SYMBOLS[z - 1] for z in sorted(named) if not counts[crystal_tokens.FIRST_ELEMENT + z - 1]]
    return [f"elements that the network never saw in training: {', '.join(unseen)}"] if unseen else []


def _crystal_in(template: Path) -> Crystal:
    frame = read_structures(template)
    reason = frame["reason"].iloc[0] if len(frame) == 1 else f"{len(frame)} structures"
    crystal = None if reason else crystals_of(frame)[0]
    if crystal is None:
        raise KinoflowError(f"--template {template}: one crystal expected, but: {reason}")
    return replace(crystal, id=template.stem)
