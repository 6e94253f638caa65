"""Work that may kill its process, done in a child process: the parent sees the death and goes on."""

import contextlib
import math
import resource
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Processor time for one task. Far more than any record needs, also one with a few events that use up their own budget
#: (budget.py); an endless loop is killed by the kernel after it.
CPU_SECONDS = 5
#: Memory for the child beyond what its parent has: as much as process has on AWS.
MEMORY_BYTES = 2**30
#: With this exit code a child ends that ran out of memory.
OUT_OF_MEMORY = 12
#: How a process is asked to stop, by a person or a supervisor. No task ends its process like this.
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Between two looks whether the child lives: a child of the child would keep the pipe open.
LOOK_SECONDS = 0.5
#: For a child that has given all its results to leave by itself.
LEAVE_SECONDS = 1.0


class Ending(Enum):
    """How a child process ended."""

    FINISHED = "finished"
    #: By a signal or an exit of its own: the first task without a result is to blame.
    DIED = "died"
    #: The first task without a result took longer than a task may: the others need not wait for it.
    STUCK = "stuck"
    #: The parent had no more time. This says nothing about the tasks.
    OUT_OF_TIME = "out of time"
    #: It was asked to stop, or it could not be started. This says nothing about the tasks either.
    STOPPED = "suppressed"


@dataclass(frozen=True, kw_only=True)
class Report(Generic[Result]):
    """What a child process got done: the results of its first tasks, in their order."""

    results: Sequence[Result]
    ending: Ending
    #: What the kernel or the interpreter gave as the reason for a death.
    exit_code: int | None


def is_possible() -> bool:
    """Tell whether this process may fork: a lock that another thread holds would stay locked in the child."""
    return threading.active_count() == 1


def run_in_child(
    work: Callable[[Task], Result], tasks: Sequence[Task], *, seconds: float, seconds_each: float = math.inf
) -> Report[Result]:
    """Do the tasks one after another in a child process; a result must be something that can be pickled."""
    # Loaded on first use: most invocations never need it.
    from multiprocessing import get_context

    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(work, tasks, theirs))
    results: list[Result] = []
    ending = Ending.STOPPED
    try:
        # A machine that has no process or memory to spare has some later.
        with contextlib.suppress(OSError):
            child.start()
            theirs.close()
            ending = _collect(child, ours, results, len(tasks), seconds=seconds, seconds_each=seconds_each)
    finally:
        exit_code = _end(child, politely=ending is Ending.FINISHED)
        ours.close()
        theirs.close()
    if ending is Ending.DIED and exit_code is not None and -exit_code in STOPS:
        ending = Ending.STOPPED
    return Report(results=results, ending=ending, exit_code=exit_code)


def _collect(
    child: "ForkProcess",
    pipe: "Connection",
    results: list[Result],
    wanted: int,
    *,
    seconds: float,
    seconds_each: float,
) -> Ending:
    deadline = time.monotonic() + seconds
    while len(results) < wanted:
        patience = time.monotonic() + seconds_each
        ending = _wait(child, pipe, min(deadline, patience))
        if ending is not None:
            return Ending.STUCK if ending is Ending.OUT_OF_TIME and patience < deadline else ending
        try:
            results.append(pipe.recv())
        except (EOFError, OSError):
            return Ending.DIED
    return Ending.FINISHED


def _wait(child: "ForkProcess", pipe: "Connection", until: float) -> Ending | None:
    """Return None once there is something to read, and else why there never is."""
    while True:
        left = until - time.monotonic()
        if pipe.poll(max(0.0, min(left, LOOK_SECONDS))):
            return None
        if child.exitcode is not None and not pipe.poll():
            return Ending.DIED
        if left <= 0:
            return Ending.OUT_OF_TIME


def _end(child: "ForkProcess", *, politely: bool) -> int | None:
    """Leave no child behind, whatever it is doing; return its exit code."""
    if child.pid is None:
        return None
    if politely:
        child.join(LEAVE_SECONDS)
    child.kill()
    child.join()
    exit_code = child.exitcode
    child.close()
    return exit_code


def _serve(work: Callable[[Task], Result], tasks: Sequence[Task], pipe: "Connection") -> None:
    for stop in STOPS:
        signal.signal(stop, signal.SIG_DFL)
    _die_first()
    _limit_memory()
    for task in tasks:
        _limit_cpu()
        try:
            result = work(task)
        except MemoryError:
            raise SystemExit(OUT_OF_MEMORY) from None
        pipe.send(result)


def _die_first() -> None:
    """Let the kernel choose this process, not its parent, when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _limit_memory() -> None:
    """Let what takes memory without end die by itself, before the machine runs out of it."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + MEMORY_BYTES)


def _limit_cpu() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + CPU_SECONDS)


def _limit(what: int, wanted: int) -> None:
    _, most = resource.getrlimit(what)
    resource.setrlimit(what, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
