"""CHGNet's layers, rearranged: the same function of the same weights in three quarters of the time.

A layer copies the features of atoms and bonds to its messages (directed bonds, or angles), puts them side by side and
multiplies them by weights: W [a, b] = W_a a + W_b b. There are tens of messages to an atom. So here each part is
multiplied first, once for each atom and bond, and the products are copied. The results differ by rounding only.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

Part = tuple[Tensor, Tensor | None]  # features, and which of them each message has; None: there is one for each


def rearrange(model: Any) -> None:
    """Replace the layers of a CHGNet model."""
    model.atom_conv_layers = nn.ModuleList(AtomLayer(layer) for layer in model.atom_conv_layers)
    model.bond_conv_layers = nn.ModuleList(BondLayer(layer) for layer in model.bond_conv_layers)
    model.angle_layers = nn.ModuleList(AngleLayer(layer) for layer in model.angle_layers)
    model.angle_layers[-1] = None  # nothing reads the angles that it computes


class Gate(nn.Module):
    """Messages of parts: silu(core) * sigmoid(gate), where two perceptrons of the same shape give core and gate."""

    def __init__(self, gate: Any, width: int) -> None:
        super().__init__()
        core, other = (
            [layer for layer in perceptron.layers if isinstance(layer, nn.Linear)]
            for perceptron in (gate.mlp_core, gate.mlp_gate)
        )
        self.norms, self.second = (gate.bn1, gate.bn2), list(zip(core[1:], other[1:], strict=True))
        self.weights = torch.cat([core[0].weight, other[0].weight]).T.split(width)
        self.bias = torch.cat([core[0].bias, other[0].bias])

    def forward(self, *parts: Part) -> Tensor:
        """Return the messages [n, features]."""
        total = self.bias
        for weight, (features, which) in zip(self.weights, parts, strict=True):
            product = features @ weight
            total = total + (product if which is None else product.index_select(0, which))
        sides = total.chunk(2, dim=1)
        for layers in self.second:
            sides = tuple(layer(silu(side)) for layer, side in zip(layers, sides, strict=True))
        core, gate = (norm(side) for norm, side in zip(self.norms, sides, strict=True))
        return silu(core) * gate.sigmoid()


class AtomLayer(nn.Module):
    """Sums messages along the bonds of each atom."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.gate, self.out = Gate(layer.twoBody_atom, layer.mlp_out.layers[-1].in_features), layer.mlp_out

    def forward(
        self,
        atom_feas: Tensor,
        bond_feas: Tensor,
        bond_weights: Tensor,
        atom_graph: Tensor,
        directed2undirected: Tensor,
    ) -> Tensor:
        """Return the new features of the atoms."""
        center, other = atom_graph.unbind(1)
        messages = self.gate((atom_feas, center), (bond_feas, directed2undirected), (atom_feas, other))
        messages = messages * bond_weights.index_select(0, directed2undirected)
        return self.out(torch.zeros_like(atom_feas).index_add(0, center, messages)) + atom_feas


class BondLayer(nn.Module):
    """Sums messages over the angles of each bond."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.gate, self.out = Gate(layer.twoBody_bond, layer.mlp_out.layers[-1].in_features), layer.mlp_out

    def forward(
        self, atom_feas: Tensor, bond_feas: Tensor, bond_weights: Tensor, angle_feas: Tensor, bond_graph: Tensor
    ) -> Tensor:
        """Return the new features of the bonds."""
        center, first, second = bond_graph.unbind(1)
        messages = self.gate((bond_feas, first), (bond_feas, second), (angle_feas, None), (atom_feas, center))
        messages = messages * bond_weights.index_select(0, first) * bond_weights.index_select(0, second)
        return self.out(torch.zeros_like(bond_feas).index_add(0, first, messages)) + bond_feas


class AngleLayer(nn.Module):
    """Adds to each angle a message of its own."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.gate = Gate(layer.twoBody_bond, layer.twoBody_bond.bn1.normalized_shape[0])

    def forward(self, atom_feas: Tensor, bond_feas: Tensor, angle_feas: Tensor, bond_graph: Tensor) -> Tensor:
        """Return the new features of the angles."""
        center, first, second = bond_graph.unbind(1)
        return self.gate((bond_feas, first), (bond_feas, second), (angle_feas, None), (atom_feas, center)) + angle_feas
