"""Kindwise paths: each kind of position uses the closed form of its own path."""

from typing import TYPE_CHECKING

from torch import Tensor

from pipeline.flow.rates import ClosedForms, Rates, rates_of

if TYPE_CHECKING:
    from pipeline.flow.paths.kindwise import KindwisePath


class KindwiseRates(Rates):
    """Any velocity: each position asks the path of its kind."""

    path: "KindwisePath"

    def net(self, x1: Tensor, z: Tensor, t: Tensor) -> Tensor:
        kinds = self.path.vocabulary.kinds_of(x1)
        return self.path.of_kinds(
            kinds, lambda path, here: rates_of(path, self.velocity).net(x1[here], z[here], t[here])
        )


CLOSED_FORMS: ClosedForms = {None: KindwiseRates}
