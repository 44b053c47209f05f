"""CHGNet as a calculator that computes energy, forces and stress and nothing else.

CHGNet's own calculator differentiates the energy twice, once for the forces and once for the stress, and keeps what
derivatives of these would need. Here one backward pass gives both: CHGNet's energy is a function of fractions and cell.
Several crystals can be computed at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.stress import full_3x3_to_voigt_6_stress
from chgnet.graph.crystalgraph import CrystalGraph
from pymatgen.optimization.neighbors import find_points_in_spheres

from pipeline.crystals.chgnet_layers import rearrange
from pipeline.crystals.crystal import Floats
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
        properties: Sequence[str] | None = None,
        system_changes: Sequence[str] = all_changes,
    ) -> None:
        """Compute all results for the atoms."""
        super().calculate(atoms, properties, system_changes)
        (answer,) = self.compute([self.atoms])
        if isinstance(answer, Exception):
            raise answer
        self.results = answer

    def compute(self, crystals: Sequence[Atoms]) -> list[dict[str, Any] | Exception]:
        """Return the results of each crystal, or why there are none; the network runs once, for all."""
        cutoffs, answers = self.model.graph_converter, list[dict[str, Any] | Exception]()
        graphs: list[CrystalGraph | NoNeighbours] = []
        for atoms in crystals:
            try:
                graphs.append(graph_of(atoms, cutoffs.atom_graph_cutoff, cutoffs.bond_graph_cutoff).to(self.device))
            except NoNeighbours as error:
                graphs.append(error)
        known = [graph for graph in graphs if isinstance(graph, CrystalGraph)]
        if known:
            sizes = torch.tensor([len(graph.atomic_number) for graph in known], device=self.device)
            energies = self.model(known, task="e")["e"] * sizes
            variables = [variable for graph in known for variable in (graph.atom_frac_coord, graph.lattice)]
            slopes = [slope.double().cpu().numpy() for slope in torch.autograd.grad(energies.sum(), variables)]
            values = iter(zip(energies.detach().tolist(), slopes[::2], slopes[1::2], strict=True))
        for atoms, graph in zip(crystals, graphs, strict=True):
            answers.append(graph if isinstance(graph, NoNeighbours) else results_of(atoms, *next(values)))
        return answers


def results_of(atoms: Atoms, energy: float, by_fractions: Floats, by_cell: Floats) -> dict[str, Any]:
    """Return the results of a calculator from an energy and its derivatives by fractions and cell."""
    cell = atoms.cell.array
    stress = cell.T @ by_cell / atoms.get_volume()  # dE/d strain, where the strained cell is cell (1 + strain)
    return {
        "energy": energy,
        "free_energy": energy,
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
