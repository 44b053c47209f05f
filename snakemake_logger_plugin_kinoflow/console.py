"""What a run of the workflow has done and what is left: the numbers that the console shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LAST_LINES = 15  # of the log of a job that failed


@dataclass(frozen=True)
class Planned:
    """A job: its rule, the names that it works on, and how many seconds it took last time, if it has run before."""

    rule: str
    label: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """The jobs of a run by number, and the log file that has everything."""

    title: str
    log: str
    jobs: Mapping[int, Planned]


@dataclass
class Tally:
    """Which jobs of a plan run, have finished or have failed. Times are seconds of any one clock."""

    plan: Plan
    running: dict[int, float] = field(default_factory=dict)  # when they started
    finished: dict[int, float] = field(default_factory=dict)  # how long they took
    failed: set[int] = field(default_factory=set)
    _most: int = 1  # jobs that ran at once

    def start(self, job: int, now: float) -> None:
        """Note that a job has started; a job that failed is tried again."""
        if job in self.plan.jobs:
            self.failed.discard(job)
            self.running[job] = now
            self._most = max(self._most, len(self.running))

    def finish(self, job: int, now: float) -> str | None:
        """Note that a job has finished; return a line if it was the last one of its rule, with the time of all."""
        if job not in self.plan.jobs:
            return None
        self.finished[job] = now - self.running.pop(job, now)
        rule = self.plan.jobs[job].rule
        alike = [number for number, one in self.plan.jobs.items() if one.rule == rule]
        if any(number not in self.finished for number in alike):
            return None
        took = span(sum(self.finished[number] for number in alike))
        return f"{self.count()} {rule}: {counted(len(alike), 'job')}, {took}{self._and_left(now)}"

    def fail(self, job: int) -> bool:
        """Note that a job has failed; return whether this is news."""
        self.running.pop(job, None)
        news = job not in self.failed
        self.failed.add(job)
        return news

    def count(self) -> str:
        """Return how many jobs of how many are done."""
        total = str(len(self.plan.jobs))
        return f"[{len(self.finished):>{len(total)}}/{total}]"

    def progress(self, now: float) -> str:
        """Return the line of what runs, how many jobs are done, and how long the others will take."""
        jobs = sorted((self.plan.jobs[job].rule, self.plan.jobs[job].label) for job in self.running)
        runs = ", ".join(f"{rule} {label}".strip() for rule, label in jobs) or "starting"
        return f"{self.count()}{self._and_left(now).removeprefix(';')} | {runs}".replace("] |", "]")

    def left(self, now: float) -> tuple[float, bool]:
        """Return the seconds that are left, and whether that is only a part: some rule was never measured.

        A job takes as long as it took last time, or as the finished jobs of its rule and experiment, or of its rule.
        """
        seconds, whole = 0.0, True
        for number, job in self.plan.jobs.items():
            if number not in self.finished:
                expected = self._expected(job)
                whole = whole and expected is not None
                seconds += max((expected or 0.0) - (now - self.running.get(number, now)), 0.0)
        return seconds / self._most, not whole

    def _expected(self, job: Planned) -> float | None:
        if job.seconds is not None:
            return job.seconds
        alike = [(self.plan.jobs[number], took) for number, took in self.finished.items()]
        of_rule = [(one.label.partition("/")[0], took) for one, took in alike if one.rule == job.rule]
        own = [took for experiment, took in of_rule if experiment == job.label.partition("/")[0]]
        chosen = own or [took for _, took in of_rule]
        return sum(chosen) / len(chosen) if chosen else None

    def _and_left(self, now: float) -> str:
        seconds, partly = self.left(now)
        if len(self.finished) == len(self.plan.jobs) or (partly and seconds < 1):
            return ""
        return f"; {'at least' if partly else 'about'} {span(seconds)} left"


def span(seconds: float) -> str:
    """Return a time in words, such as 40 s, 12 min or 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def last_lines(path: str) -> list[str]:
    """Return the last lines of a log, for the console."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except OSError as error:
        return [f"{path}: {error.strerror}"]
    return lines[-LAST_LINES:] or [f"{path} is empty"]
