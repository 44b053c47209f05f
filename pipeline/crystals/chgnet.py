"""CHGNet as a calculator that computes energy, forces and stress and nothing else.

CHGNet's own calculator differentiates the energy twice, once for the forces and once for the stress, and keeps what
derivatives of these would need. Here one backward pass gives both: CHGNet's energy is a function of fractions and cell.
Several crystals can be computed at once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes, all_properties
from ase.stress import full_3x3_to_voigt_6_stress
from chgnet.graph.crystalgraph import CrystalGraph
from pymatgen.optimization.neighbors import find_points_in_spheres

from pipeline.crystals.chgnet_layers import rearrange
from pipeline.crystals.energies import NoNeighbours

PERIODIC = np.ones(3, dtype=np.int64)
SAME_PLACE = 1e-8  # A; the tolerance of CHGNet's own graphs


class LeanChgnet(Calculator):
    """Energies, forces and stresses of a CHGNet model on its device; a NoNeighbours error where it knows none."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval().requires_grad_(False)
        rearrange(self.model)
        self.device = next(model.parameters()).device

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Sequence[str] = all_properties,
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Compute all results for the atoms; just the energy, in a third of the time, if nothing else is asked for."""
        super().calculate(atoms, properties, system_changes)
        (answer,) = self.compute([self.atoms], only_energy=set(properties) <= {"energy", "free_energy"})
        if isinstance(answer, Exception):
            raise answer
        self.results = answer

    def compute(self, crystals: Sequence[Atoms], only_energy: bool = False) -> list[dict[str, Any] | Exception]:
        """Return the results of each crystal, or why there are none; the network runs once, for all."""
        cutoffs, graphs = self.model.graph_converter, list[CrystalGraph | NoNeighbours]()
        for atoms in crystals:
            try:
                graphs.append(graph_of(atoms, cutoffs.atom_graph_cutoff, cutoffs.bond_graph_cutoff).to(self.device))
            except NoNeighbours as error:
                graphs.append(error)
        pairs = zip(crystals, graphs, strict=True)
        known = [(atoms, graph) for atoms, graph in pairs if isinstance(graph, CrystalGraph)]
        found = self._results(known, only_energy) if known else iter(())
        return [graph if isinstance(graph, NoNeighbours) else next(found) for graph in graphs]

    def _results(self, crystals: Sequence[tuple[Atoms, CrystalGraph]], only_energy: bool) -> Iterator[dict[str, Any]]:
        """Yield the results of crystals with their graphs."""
        graphs = [graph for _, graph in crystals]
        sizes = torch.tensor([len(atoms) for atoms, _ in crystals], device=self.device)
        with torch.set_grad_enabled(not only_energy):
            energies = self.model(graphs, task="e")["e"] * sizes
        values = energies.detach().tolist()
        if only_energy:
            yield from ({"energy": value, "free_energy": value} for value in values)
            return
        variables = [variable for graph in graphs for variable in (graph.atom_frac_coord, graph.lattice)]
        slopes = [slope.double().cpu().numpy() for slope in torch.autograd.grad(energies.sum(), variables)]
        for (atoms, _), value, by_fractions, by_cell in zip(crystals, values, slopes[::2], slopes[1::2], strict=True):
            cell = atoms.cell.array
            stress = cell.T @ by_cell / atoms.get_volume()  # dE/d strain, where the strained cell is cell (1 + strain)
            yield {
                "energy": value,
                "free_energy": value,
                "forces": -by_fractions @ np.linalg.inv(cell).T,
                "stress": full_3x3_to_voigt_6_stress(stress),
            }


def graph_of(atoms: Atoms, cutoff: float, bond_cutoff: float) -> CrystalGraph:
    """Return the graph that CHGNet's converter makes, up to the order of bonds and angles, in a quarter of its time.

    A bond is a pair of atoms, or of images, at most `cutoff` apart. Bond b of n has the directions b and b + n. An
    angle is an ordered pair of directions from one atom, both of bonds shorter than `bond_cutoff`.
    """
    places, cell = np.ascontiguousarray(atoms.positions), np.ascontiguousarray(atoms.cell.array)
    center, other, image, distance = find_points_in_spheres(places, places, cutoff, PERIODIC, cell, tol=SAME_PLACE)
    base = 2 * int(np.abs(image).max(initial=0)) + 1
    sign = image.astype(np.int64) @ [base * base, base, 1]  # of the image's first number that is not zero
    once = (center < other) | ((center == other) & (sign > 0))  # each bond in one direction, no atom with itself
    center, other, image, distance = center[once], other[once], image[once], distance[once]
    ends = np.column_stack([np.concatenate([center, other]), np.concatenate([other, center])])
    if alone := len(atoms) - len(np.unique(ends)):
        raise NoNeighbours(f"{alone} of {len(atoms)} atoms have no other within {cutoff:g} A")
    bond = np.tile(np.arange(len(center)), 2)
    short = np.flatnonzero(np.tile(distance, 2) < bond_cutoff)
    short = short[np.argsort(ends[short, 0], kind="stable")]
    first, second = (short[side] for side in _pairs_of_equals(ends[short, 0]))
    angles = np.column_stack([ends[first, 0], bond[first], first, bond[second], second])
    return CrystalGraph(
        atomic_number=torch.tensor(atoms.numbers, dtype=torch.int32),
        atom_frac_coord=torch.tensor(places @ np.linalg.inv(cell), dtype=torch.float32, requires_grad=True),
        atom_graph=torch.tensor(ends, dtype=torch.int32),
        atom_graph_cutoff=cutoff,
        neighbor_image=torch.tensor(np.concatenate([image, -image]), dtype=torch.float32),
        directed2undirected=torch.tensor(bond, dtype=torch.int32),
        undirected2directed=torch.arange(len(center), dtype=torch.int32),
        bond_graph=torch.tensor(angles, dtype=torch.int32),
        bond_graph_cutoff=bond_cutoff,
        lattice=torch.tensor(cell, dtype=torch.float32, requires_grad=True),
    )


def _pairs_of_equals(values: Any) -> tuple[Any, Any]:
    """Return the positions of all ordered pairs of two different places of a sorted array that have the same value."""
    _, starts, group, sizes = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    first = np.repeat(np.arange(len(values)), sizes[group])
    before = np.cumsum(sizes[group]) - sizes[group]
    second = np.arange(len(first)) - np.repeat(before, sizes[group]) + np.repeat(starts[group], sizes[group])
    return first[first != second], second[first != second]
