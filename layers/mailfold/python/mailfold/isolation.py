"""Work that may kill its process, done in a child process: the parent sees the death and goes on."""

import contextlib
import math
import resource
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Processor time for one task. Far more than any record needs; an endless loop is killed by the kernel after it.
CPU_SECONDS = 5


class Ending(Enum):
    """How a child process ended."""

    FINISHED = "finished"
    #: By a signal or an exit of its own: the first task without a result is to blame.
    DIED = "died"
    #: The parent had no more time. This says nothing about the tasks.
    OUT_OF_TIME = "out of time"


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


def run_in_child(work: Callable[[Task], Result], tasks: Sequence[Task], *, seconds: float) -> Report[Result]:
    """Do the tasks one after another in a child process; a result must be something that can be pickled."""
    # Loaded on first use: most invocations never need it.
    from multiprocessing import get_context

    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(work, tasks, theirs))
    child.start()
    theirs.close()
    results: list[Result]
    results, ending = _collect(ours, len(tasks), deadline=time.monotonic() + seconds)
    if ending is not Ending.FINISHED:
        child.kill()
    child.join()
    exit_code = child.exitcode
    child.close()
    ours.close()
    return Report(results=results, ending=ending, exit_code=exit_code)


def _collect(pipe: "Connection", wanted: int, *, deadline: float) -> tuple[list[Result], Ending]:
    results: list[Result] = []
    while len(results) < wanted:
        if not pipe.poll(max(0.0, deadline - time.monotonic())):
            return results, Ending.OUT_OF_TIME
        try:
            results.append(pipe.recv())
        except (EOFError, OSError):
            return results, Ending.DIED
    return results, Ending.FINISHED


def _serve(work: Callable[[Task], Result], tasks: Sequence[Task], pipe: "Connection") -> None:
    _die_first()
    for task in tasks:
        _limit_cpu()
        pipe.send(work(task))


def _die_first() -> None:
    """Let the kernel choose this process, not its parent, when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _limit_cpu() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used.ru_utime + used.ru_stime) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft if most == resource.RLIM_INFINITY else min(soft, most), most))
