"""Hours that the work of a sheet takes, on kinds of GPUs and on this machine, and the limits that are too short."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.inspect.plan.gpus import Gpu
from pipeline.inspect.plan.limits import Limit, limits_of
from pipeline.inspect.plan.measure import Measured
from pipeline.inspect.plan.sheet import Sheet
from pipeline.inspect.plan.work import Work


@dataclass(frozen=True)
class Estimate:
    """A sheet, the GPU that time limits are checked for, the share of its peak, and what was measured."""

    sheet: Sheet
    gpu: Gpu
    utilisation: float
    measured: list[Measured] = field(default_factory=list)
    finished: dict[tuple[str, str], float] = field(default_factory=dict)  # seconds of finished trainings

    def gpu_hours(self, works: Iterable[Work], gpu: Gpu) -> float:
        """Return the GPU-hours of some work on a kind of GPU."""
        return sum(work.gpu_hours(gpu, self.utilisation) for work in works)

    def hours_here(self, work: Work) -> float | None:
        """Return the hours of some work on one device of this machine; None if its network was not measured."""
        rates = {(entry.experiment, entry.network): entry.flops_per_second for entry in self.measured}
        rate = rates.get((work.experiment, work.network))
        return None if rate is None else work.flops / rate / 3600

    def limits(self) -> list[Limit]:
        """Return the longest jobs: those with GPUs on the chosen GPU, the others on this machine if measured."""
        return limits_of(self.sheet.work, self._hours)

    def warnings(self) -> list[str]:
        """Return what should be changed before anything is started."""
        return [limit.warning for limit in self.limits() if limit.warning is not None]

    def _hours(self, work: Work) -> float | None:
        if work.gpus:
            return work.hours(self.gpu, self.utilisation)
        here = self.hours_here(work)
        return None if here is None else work.longest * here
