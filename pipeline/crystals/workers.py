"""Tasks in worker processes, both ends of the pipe in one file: a task that takes too long or dies loses only itself.

A worker is a fresh interpreter with one thread. It runs one task after the other, is killed when a task exceeds its
time, and is replaced when it dies. No worker outlives its parent, however the parent ends: the parent kills its workers
when it is done, and a worker whose parent is gone ends itself.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NamedTuple, TypeVar

from pipeline.errors import KinoflowError
from pipeline.store.journal import Journal
from pipeline.store.progress import Progress

Result = TypeVar("Result")
Initialise = Callable[[], Any] | None
START_SECONDS = 600.0  # for a worker to start and to initialise; CHGNet on a busy network drive takes minutes
DIED = "failed: worker died"
HOPELESS = 3  # deaths in a row of workers that ran alone
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Outcome(NamedTuple, Generic[Result]):
    """What a task returned, or None and the reason why there is nothing."""

    value: Result | None
    reason: str


def run_tasks(
    function: Callable[..., Result],
    items: Sequence[Any],
    *,
    workers: int,
    seconds: float,
    label: str,
    initialise: Initialise = None,
    finished: Journal | None = None,
) -> Iterator[tuple[int, Outcome[Result]]]:
    """Yield the position and the outcome of function(item) for every item, in the order in which they finish.

    With `initialise`, the call is function(initialise(), item). Each worker calls `initialise` once, before its first
    task, and the seconds of a task do not include it. It is an error if it fails or takes more than START_SECONDS.
    Workers find both functions by name, so these must be module-level functions (or `functools.partial` of such).
    A task whose worker died, perhaps killed or out of memory, is tried once more, alone, after all others. If HOPELESS
    workers in a row die again, the machine is to blame, and no more are tried.

    What is in the journal of `finished` tasks comes first, and new outcomes are kept in it: JSON must be able to hold
    them. A task whose worker died again is not kept: it may succeed in another attempt with more memory.
    """
    known = {} if finished is None else finished.entries
    todo = [position for position in range(len(items)) if f"{label} {position}" not in known]
    for position in sorted(set(range(len(items))) - set(todo)):
        yield position, Outcome(*known[f"{label} {position}"])
    died: dict[int, Outcome[Result]] = {}
    tries = partial(_try_tasks, function, items, seconds=seconds, initialise=initialise)
    for position, outcome in tries(todo, workers=workers, label=label):
        if outcome.reason.startswith(DIED):
            died[position] = outcome
            continue
        if finished is not None:
            finished.add(f"{label} {position}", [outcome.value, outcome.reason])
        yield position, outcome
    in_a_row = 0
    for position, outcome in tries(list(died), workers=1, label=f"{label} again") if died else ():
        del died[position]
        in_a_row = in_a_row + 1 if outcome.reason.startswith(DIED) else 0
        if finished is not None and not in_a_row:
            finished.add(f"{label} {position}", [outcome.value, outcome.reason])
        yield position, outcome
        if in_a_row == HOPELESS:
            break
    yield from died.items()


def _try_tasks(
    function: Callable[..., Result],
    items: Sequence[Any],
    positions: Sequence[int],
    *,
    workers: int,
    seconds: float,
    label: str,
    initialise: Initialise,
) -> Iterator[tuple[int, Outcome[Result]]]:
    waiting, done = deque(positions), 0
    crew: list[Worker] = []
    with Progress(label, len(positions), unit="task") as progress:
        try:
            while done < len(positions):
                while len(crew) < min(workers, len(positions) - done):
                    crew.append(Worker(function, initialise, label))
                finished = []
                for worker in list(crew):
                    if (outcome := worker.outcome(seconds)) is not None:
                        finished.append((worker.position, outcome))
                        worker.position = None
                    if worker.dead:
                        crew.remove(worker)
                        worker.end()
                    elif worker.ready and worker.position is None and waiting:
                        position = waiting.popleft()
                        worker.give(position, items[position])
                for position, outcome in finished:
                    done += 1
                    progress.advance(done)
                    yield position, outcome
                if not finished:
                    _wait(crew, seconds)
        finally:
            for worker in crew:
                worker.end()


class Worker:
    """A worker process and its current task."""

    def __init__(self, function: Callable[..., Any], initialise: Initialise, label: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), name=label, daemon=True)
        with _inherited():
            self.process.start()
        theirs.close()  # or the end of the worker would not end the connection
        self.ready, self.dead = False, False
        self.position: Any = None
        self.started = time.monotonic()  # of the process, later of its task
        self._send((function, initialise))

    def give(self, position: int, item: Any) -> None:
        """Start the worker on an item."""
        self.position, self.started = position, time.monotonic()
        self._send(item)

    def outcome(self, seconds: float) -> Outcome[Any] | None:
        """Return the outcome of the task if there is one; raise an error if the worker cannot start."""
        answer = self._answer()
        if answer is None and self.position is not None and time.monotonic() - self.started >= seconds:
            self.dead = True
            return Outcome(None, f"time limit ({seconds:g} s)")
        if answer is None and not self.ready and time.monotonic() - self.started >= START_SECONDS:
            raise KinoflowError(
                f"{self.process.name}: a worker process cannot start (not ready after {START_SECONDS:g} s); is the "
                "machine overloaded, or the drive with the Python packages stuck?"
            )
        if answer is not None and not self.ready:
            if answer.reason:
                raise KinoflowError(f"{self.process.name}: a worker process cannot start ({answer.reason})")
            self.ready = True
            return None
        return answer if self.position is not None else None

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.process.close()

    def _answer(self) -> Outcome[Any] | None:
        alive = self.process.is_alive()  # asked first: what it sent before its death can still be read
        try:
            if self.connection.poll():
                return self.connection.recv()
        except (EOFError, ConnectionError):
            alive = False
        if alive:
            return None
        self.dead = True
        self.process.join(timeout=5)
        code = self.process.exitcode or 0
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Outcome(None, f"{DIED} ({cause})")

    def _send(self, value: Any) -> None:
        with suppress(ConnectionError):  # the process is gone: the next answer says so, with the cause
            self.connection.send(value)


def _wait(crew: Sequence[Worker], seconds: float) -> None:
    """Wait until a worker answers, ends, or is over its time."""
    busy = [worker for worker in crew if worker.position is not None or not worker.ready]
    ends = [worker.started + (seconds if worker.ready else START_SECONDS) for worker in busy]
    signs = [sign for worker in crew for sign in (worker.connection, worker.process.sentinel)]
    wait(signs, max(0.0, min(ends) - time.monotonic()) if ends else None)


@contextmanager
def _inherited() -> Iterator[None]:
    """Give a process that is started in the block one thread, and block signals in it.

    A signal that stops a job (Ctrl-C, the end of an allocation) goes to all its processes. Workers must not die of it
    before the parent does, or the parent would blame their tasks.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(connection: Connection) -> None:
    """Run the tasks that come over the connection; a worker process runs this function."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        function, initialise = connection.recv()
        before = () if initialise is None else (initialise(),)
    except Exception as error:
        connection.send(Outcome(None, _failure(error)))
        return
    connection.send(Outcome(None, ""))
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        except Exception as error:
            connection.send(Outcome(None, _failure(error)))
            continue
        try:
            connection.send(Outcome(function(*before, item), ""))
        except Exception as error:  # from the function, or because its result cannot be sent
            connection.send(Outcome(None, _failure(error)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _failure(error: Exception) -> str:
    message = str(error).strip().splitlines()
    return f"failed: {type(error).__name__}" + (f": {message[0]}" if message else "")
