"""A transformer over crystals that ignores the order of their atoms: permuted atoms give permuted logits.

Each atom's four tokens become one, all atoms share one position, and attention sees the cell and the atoms but no
pads. Letters in shapes: B crystals, D = 6 + 4 a tokens of each, W features.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from pipeline.crystals.networks import CrystalLayout, present_atoms
from pipeline.crystals.networks.collisions import atoms_to_move
from pipeline.crystals.networks.contacts import Contacts
from pipeline.crystals.networks.contents import Contents
from pipeline.crystals.networks.volumes import Volumes
from pipeline.crystals.tokens import BEGIN, CELL, FIRST_ELEMENT, FIRST_FRACTION, ONE, PER_ATOM
from pipeline.flow import device
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.attention import Sight
from pipeline.networks.denoiser import Denoiser
from pipeline.networks.linear import Linear
from pipeline.networks.packing import Packing, in_row
from pipeline.networks.transformer import Blocks, Head, TimeEmbedding, TransformerOptions

# Features of the condition, per feature of a token. The paper gives the width, the depth, the heads and the number of
# parameters (around 25 million) but not this. 7/4 gives 25.2 million at the paper's size.
CONDITION_RATIO = 7 / 4

OURS = ("contacts", "shortest", "spacing", "contents", "volumes", "atoms")  # the paper's network has none of them


class Options(TransformerOptions):
    """The size of the network, and what it is told besides tokens."""

    contacts: bool = Field(
        False,
        description="whether the last unknown coordinate of an atom gets terms by its distances to the atoms around",
    )
    shortest: float = Field(
        0.0, ge=0, le=2, description="with contacts: Angstrom below which no two atoms are put; 0: no limit"
    )
    spacing: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the sum of two radii; atoms that are closer are placed anew, in sampling.redraws rounds; "
        "0: they stay",
    )
    contents: bool = Field(
        False,
        description="whether an element gets terms by how many atoms have it already; for mask paths",
    )
    volumes: bool = Field(
        False,
        description="whether lengths, angles and elements get terms by the volume of the cell and that of its atoms",
    )
    time: bool = Field(True, description="tell the network the time; mask paths do not need it")
    atoms: bool = Field(False, description="tell the network the number of atoms, as the autoregressive one is told")

    @model_validator(mode="after")
    def _a_limit_needs_contacts(self) -> "Options":
        if self.shortest and not self.contacts:
            raise ValueError("shortest: needs contacts: true, which compute the distances")
        return self


class CrystalDit(Denoiser):
    """Embeddings, one token for each atom, attention blocks, four tokens for each atom again, and K logits for each."""

    answers_at = ragged = True

    def __init__(self, options: Options, layout: CrystalLayout, tokens: int) -> None:
        super().__init__()
        width, condition_width = options.width, round(CONDITION_RATIO * options.width)
        self.layout, self.condition_width, self.spacing = layout, condition_width, options.spacing
        self.embedding = nn.Embedding(tokens, width)
        self.join_atom = Linear(PER_ATOM * width, width)
        self.positions = nn.Embedding(CELL + 1, width)  # all atoms share the last
        self.time = TimeEmbedding(condition_width) if options.time else None
        self.atoms = nn.Embedding(layout.atoms, condition_width) if options.atoms else None  # for 1, 2, ..., a atoms
        self.blocks = Blocks(options, condition_width)
        self.split_atom = Linear(width, PER_ATOM * width)  # four layers of W to W, in one product
        self.head = Head(width, condition_width, tokens)
        self.contacts = Contacts(tokens, options.shortest) if options.contacts else None
        self.contents = Contents() if options.contents else None
        self.volumes = Volumes() if options.volumes else None
        self.places: Tensor
        self.register_buffer("places", torch.arange(CELL + layout.atoms).clamp(max=CELL), persistent=False)

    def forward(self, x: Tensor, t: Tensor, at: Tensor | None = None) -> Tensor:
        """Return the logits of p(x1 | x_t), [B, D, K], or [n, K] for the tokens `at`; those of pads mean nothing."""
        condition = self._condition(x, t)
        modulations, head_modulation = self.blocks.modulations(condition), self.head.modulation(condition)
        if at is None:
            features, sight = self._rectangle(x)
            features = self.blocks(features, modulations, sight)
            cell, atoms = features[:, :CELL], features[:, CELL:]
            split = self.split_atom(atoms).view(len(x), x.shape[1] - CELL, -1)  # [B, 4 a, W]
            logits = self.head(torch.cat([cell, split], dim=1), head_modulation)
            return self._with_terms(logits.flatten(0, 1), x, torch.arange(x.numel(), device=x.device)).view_as(logits)
        crystal, column = at // x.shape[1], at % x.shape[1]
        atom, part = (column - CELL) // PER_ATOM, (column - CELL) % PER_ATOM
        place = torch.where(column < CELL, column, CELL + atom)
        if device.is_host(x) and not self.training:
            features, sight, numbers = self._packed(x)
        else:  # another device would have to tell how many tokens there are, and dropout makes equal atoms differ
            features, sight = self._rectangle(x)
            numbers = torch.arange(features[..., 0].numel(), device=x.device).view(len(x), -1)
        asked = self.blocks(features, modulations, sight, at=numbers[crystal, place])  # [n, W]
        split = self.split_atom(asked).unflatten(-1, (PER_ATOM, -1))[torch.arange(len(at), device=at.device), part]
        logits = self.head(torch.where(column[:, None] < CELL, asked, split), head_modulation, crystal)
        return self._with_terms(logits, x, at)

    def conflicts(self, x: Tensor, free: Tensor, generator: torch.Generator) -> Tensor | None:
        """Return the coordinates of one atom of each crystal that is too close to another, bool [B, D]."""
        return atoms_to_move(x, self.spacing, free, generator) if self.spacing else None

    def _condition(self, x: Tensor, t: Tensor) -> Tensor:
        """Return what all tokens of crystals x [B, D] are told at times t [B], [B, C]."""
        condition = x.new_zeros(len(x), self.condition_width, dtype=self.embedding.weight.dtype)
        if self.time is not None:
            condition = condition + self.time(t)
        if self.atoms is not None:
            condition = condition + self.atoms(present_atoms(x, self.layout.pad_token).sum(1).clamp(min=1) - 1)
        return condition

    def _with_terms(self, logits: Tensor, x: Tensor, at: Tensor) -> Tensor:
        """Return the logits [n, K] of the tokens `at` [n] with what distances, known elements and volumes say."""
        if self.contacts is not None:
            which, terms = self.contacts(x, at)
            added = functional.pad(terms, (FIRST_FRACTION, logits.shape[1] - ONE))
            logits = logits.index_add(0, which, added.to(logits.dtype))
        if self.contents is not None:
            which, terms = self.contents(x, at, self.layout.pad_token)
            added = functional.pad(terms, (FIRST_ELEMENT, logits.shape[1] - BEGIN))
            logits = logits.index_add(0, which, added.to(logits.dtype))
        if self.volumes is not None:
            for which, first, terms in self.volumes(x, at, self.layout.pad_token):
                added = functional.pad(terms, (first, logits.shape[1] - first - terms.shape[1]))
                logits = logits.index_add(0, which, added.to(logits.dtype))
        return logits

    def _rectangle(self, x: Tensor) -> tuple[Tensor, Sight]:
        """Return the features of the cells and of the atoms of crystals x [B, D], [B, 6 + a, W]; pads are hidden."""
        present = present_atoms(x, self.layout.pad_token)  # [B, a]
        seen = functional.pad(present, (CELL, 0), value=True)  # [B, 6 + a]
        embedded = self.embedding(x)  # [B, D, W]
        joined = self._joined(embedded[:, CELL:].reshape(*present.shape, -1))
        features = torch.cat([embedded[:, :CELL], joined], dim=1)
        return features + self.positions(self.places[: features.shape[1]]), Sight(seen)

    def _packed(self, x: Tensor) -> tuple[Tensor, Sight, Tensor]:
        """Return the features [1, T, W] of crystals one after the other, and where each token is, [B, 6 + a].

        There are no pads, and equal atoms of a crystal are there once: they have no order, so all layers give them
        equal features. Most atoms are equal as long as they are hidden.
        """
        size, present = self.embedding.num_embeddings, present_atoms(x, self.layout.pad_token)
        codes = torch.arange(len(x))[:, None]  # of a crystal and the four tokens of an atom
        for tokens in x[:, CELL:].unflatten(1, (-1, PER_ATOM)).unbind(-1):
            codes = codes * size + tokens
        distinct, which, counts = torch.unique(codes[present], return_inverse=True, return_counts=True)
        tokens = torch.stack([distinct // size**power % size for power in reversed(range(PER_ATOM))], dim=-1)
        joined = self._joined(self.embedding(tokens).flatten(1))
        lengths = CELL + torch.bincount(distinct // size**PER_ATOM, minlength=len(x))
        _, places, _ = in_row(lengths)
        is_atom = places >= CELL
        packing = Packing.of(lengths, torch.ones(len(places)).masked_scatter_(is_atom, counts.float()))
        features = joined.new_empty(len(places), joined.shape[-1])
        features[is_atom], features[~is_atom] = joined, self.embedding(x[:, :CELL]).flatten(0, 1)
        numbers = packing.starts[:, None].repeat(1, CELL + present.shape[1])
        numbers[:, :CELL] += torch.arange(CELL)
        numbers[:, CELL:][present] = is_atom.nonzero().squeeze(-1)[which]
        return (features + self.positions(places.clamp(max=CELL)))[None], Sight(packing=packing), numbers

    def _joined(self, embedded: Tensor) -> Tensor:
        """Return one feature vector for each atom from the four of its tokens, [..., 4 W]."""
        return functional.silu(self.join_atom(embedded))


def build(options: Options, vocabulary: Vocabulary, length: int) -> nn.Module:
    """Return the network for crystals of `length` tokens."""
    return CrystalDit(options, CrystalLayout.of(vocabulary, length), vocabulary.size)
