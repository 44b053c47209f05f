"""A quiet console for Snakemake: one line per finished stage, one line of progress, and what to do about failures.

Snakemake finds this package by its name (`--logger kinoflow`, which the default profile says). Snakemake's own log file
has everything. With VERBOSE=1, --verbose and in a dry run, the console shows it, too.

Snakemake imports this package before the workflow has said where `pipeline` is, so it must not import `pipeline`.
"""

import logging
import os
import shlex
import sys
import time
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_kinoflow.console import Plan, Tally, counted, last_lines

AGAIN = "KINOFLOW_AGAIN"  # the command that was called, if it is not snakemake itself
REPEATS = (  # what Snakemake says of jobs that failed, besides the event itself
    "RuleException:",
    "Exiting because a job execution failed",
    "At least one job did not complete successfully",
    "Shutting down, this might take some time",
)


class LogHandler(LogHandlerBase):
    """Shows the events of a run; until the run has a plan, messages wait, in case there is none."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        settings: Any = self.common_settings
        self._tally: Tally | None = None
        self._waiting: list[str] = []
        self._closed = False  # Snakemake closes its handlers, then `logging` does
        self._all: logging.Handler | None = None
        if os.environ.get("VERBOSE", "0") not in ("", "0") or settings.verbose or settings.dryrun:
            self._all = _usual(settings)
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def line() -> Text:
            return Text(self._tally.progress(time.time()) if self._tally else "", no_wrap=True, overflow="ellipsis")

        self._console = Console(stderr=not settings.stdout, highlight=False, no_color=settings.nocolor or None)
        self._live = Live(console=self._console, get_renderable=line, refresh_per_second=1, transient=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, or what follows from it."""
        if self._all is not None:
            self._all.handle(record)
            return
        event, number = getattr(record, "event", None), getattr(record, "jobid", -1)
        if hasattr(record, "plan"):
            self._begin(record.plan)
        elif event == LogEvent.JOB_ERROR:
            self._failed(record)
        elif record.levelno >= logging.WARNING:
            if not (self._tally and any(text in record.getMessage() for text in REPEATS)):
                self._print(record.getMessage(), "yellow" if record.levelno == logging.WARNING else "red")
                self._waiting.clear()  # what went before an error does not matter
        elif self._tally and event == LogEvent.JOB_INFO:
            self._tally.start(number, record.created)
        elif self._tally and event == LogEvent.JOB_FINISHED:
            if line := self._tally.finish(getattr(record, "job_id", -1), record.created):
                self._print(line)
        elif event is None and not self._tally:
            self._waiting.append(record.getMessage())

    def close(self) -> None:
        """Say how the run ended."""
        if self._all is None and not self._closed:
            self._closed = True
            self._live.stop()
            if self._tally is None:
                for message in self._waiting:
                    self._print(message)
            elif len(self._tally.finished) < len(self._tally.plan.jobs):
                failed = f", {len(self._tally.failed)} failed" if self._tally.failed else ""
                self._print(f"{self._tally.count()} done{failed}; everything is in {self._tally.plan.log}")
                self._print(f"to go on: {os.environ.get(AGAIN) or shlex.join(['snakemake', *sys.argv[1:]])}", "bold")
        super().close()

    def _begin(self, plan: Plan) -> None:
        self._waiting.clear()
        self._tally = Tally(plan)
        self._print(f"{plan.title}: {counted(len(plan.jobs), 'job')}; everything is in {plan.log}, VERBOSE=1 shows it")
        if self._console.is_terminal:
            self._live.start()

    def _failed(self, record: Any) -> None:
        if self._tally and not self._tally.fail(record.jobid):
            return  # Snakemake says it again at the end
        job = self._tally.plan.jobs.get(record.jobid) if self._tally else None
        self._print(f"failed: {record.rule_name} {job.label if job else ''}".rstrip(), "red")
        for log in record.log or ():
            self._print(f"  the last lines of {log}:")
            for line in last_lines(log):
                self._print(f"    {line}")
        if not record.log and record.rule_msg:
            self._print(f"  {record.rule_msg}")

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, soft_wrap=True)


def _usual(settings: Any) -> logging.Handler:
    """Return the handler that Snakemake has without this one."""
    from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter

    return ColorizingTextHandler(
        nocolor=settings.nocolor,
        stream=sys.stdout if settings.stdout else sys.stderr,
        formatter=DefaultFormatter(settings.quiet, settings.show_failed_logs),
        filter=DefaultFilter(
            settings.quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
        ),
    )
