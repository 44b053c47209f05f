"""What preflight has found: problems, which stop a run, and remarks, which do not."""

from dataclasses import dataclass, field

from pipeline.errors import KinoflowError


class PreflightError(KinoflowError):
    """A run that lacks something."""


@dataclass(frozen=True)
class Findings:
    """Problems and remarks, each a sentence with the key, the file and what to do."""

    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def remarks_text(self) -> str:
        """Return the remarks, one per line."""
        return "".join(f"remark: {remark}\n" for remark in self.remarks)

    def raise_problems(self, where: str) -> None:
        """Raise an error that lists all problems by number, if there are any."""
        if self.problems:
            count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            lines = [f"  {number}. {problem}" for number, problem in enumerate(self.problems, start=1)]
            raise PreflightError("\n".join([f"{where}: {count}; nothing was started", *lines]))
