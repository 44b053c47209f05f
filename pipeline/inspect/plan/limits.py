"""Time limits against estimates: the longest job of each kind, and a warning if its limit is too short."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pipeline.inspect.plan.work import Work

MORE = {
    "train": "or give it more GPUs; it goes on from its checkpoints if it is started again",
    "train_tokenizer": "or give it more GPUs; it goes on from its checkpoints if it is started again",
    "train_classifier": "it goes on from its checkpoints if it is started again",
    "sample": "or spread it over more shards",
    "search": "it goes on from its journal if it is started again",
}


@dataclass(frozen=True)
class Limit:
    """The longest job of a rule among those that share the key of their limit, and how long it takes."""

    work: Work
    hours: float
    names: int  # how many runs have such a job

    @property
    def allowed(self) -> float:
        """The hours that the job may take."""
        return self.work.resources.minutes / 60

    @property
    def warning(self) -> str | None:
        """What to change, if the job would be stopped before it is done."""
        if self.hours <= self.allowed:
            return None
        work, needed = self.work, -(-int(self.hours * 60) // 10) * 10 + 10
        what = f"{work.experiment}: {work.rule}{f' of {work.name}' if work.name else ''}"
        change = f"set {work.key}.minutes to {needed} or more"
        more = f", {MORE[work.rule]}" if work.rule in MORE else ""
        return f"{what} takes about {self.hours:.3g} h, but may take {self.allowed:.3g} h; {change}{more}"


def limits_of(works: Iterable[Work], hours: Callable[[Work], float | None]) -> list[Limit]:
    """Return the longest job for each rule and key of its limit; without an estimate, `hours` returns None."""
    jobs: dict[tuple[str, str, str], dict[str, tuple[Work, float]]] = {}
    for work in works:
        if (estimate := hours(work)) is not None:
            of_key = jobs.setdefault((work.experiment, work.rule, work.key), {})
            _, before = of_key.get(work.name, (work, 0.0))  # a job may run a network for several metrics
            of_key[work.name] = work, before + estimate
    found = []
    for of_key in jobs.values():
        work, estimate = max(of_key.values(), key=lambda entry: entry[1])
        found.append(Limit(work, estimate, len(of_key)))
    return found
