"""The connections of the database: how many it admits, and how many of them each role may have."""

from typing import Protocol

#: Memory of an instance by its size, at least; a class for memory has twice as much.
MEMORY_GIB = {"micro": 1, "small": 2, "medium": 4, "large": 8}
XLARGE_GIB = 16
# https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/CHAP_Limits.html: memory / 9531392, of what the system leaves,
# and never more than the second.
CONNECTIONS_PER_GIB = 80
MOST_CONNECTIONS = 5_000

#: superuser_reserved_connections (3), rds.rds_superuser_reserved_connections (2), and RDS's own sessions.
RESERVED = 8
#: The owner: migrate, and a person beside it.
OWNER = 3
#: An invocation of process has a second connection while it folds redelivered records (docs/decisions/0116). While a
#: deploy replaces the function, each environment of the previous version keeps one until it has been idle for too long.
PROCESS = 3
#: An invocation of query has one, and so has an environment of the previous version.
QUERY = 2
#: The connections of query where its concurrency is not reserved: what comes beyond them at once is answered 503.
QUERY_UNRESERVED = 20
#: One run at a time, more where runs are long or a deploy replaces the function; publish is called every minute,
#: operate by several people.
OTHERS = {
    "mailfold_prune": 3,
    "mailfold_sweep": 3,
    "mailfold_watch": 3,
    "mailfold_publish": 4,
    "mailfold_operate": 6,
}


class Sizes(Protocol):
    """The settings that decide how many connections are needed."""

    @property
    def max_concurrency(self) -> int:
        """Invocations of process at once."""

    @property
    def query_concurrency(self) -> int:
        """Invocations of query at once; 0 where they are not bounded."""

    @property
    def database_class(self) -> str:
        """The class of the instance."""


def memory_gib(database_class: str) -> int:
    """Return how much memory an instance of this class has, at least."""
    size = database_class.split(".")[1]
    return MEMORY_GIB.get(size) or XLARGE_GIB * int(size.removesuffix("xlarge") or 1)


def max_connections(database_class: str) -> int:
    """Return how many connections an instance of this class admits, at least."""
    return min(CONNECTIONS_PER_GIB * memory_gib(database_class), MOST_CONNECTIONS)


def limits(sizes: Sizes) -> dict[str, int]:
    """Return how many connections each login role may have at once."""
    return {
        "mailfold_process": PROCESS * sizes.max_concurrency,
        "mailfold_query": QUERY * sizes.query_concurrency or QUERY_UNRESERVED,
        **OTHERS,
    }


def refusal(sizes: Sizes, *, prefix: str) -> str | None:
    """Return the sentence that refuses settings whose connections do not fit into the database, or None if they do."""
    admitted = max_connections(sizes.database_class) - RESERVED
    needed = sum(limits(sizes).values()) + OWNER
    if needed <= admitted:
        return None
    # The larger of the two is to blame.
    of_process, of_query = limits(sizes)["mailfold_process"], limits(sizes)["mailfold_query"]
    if of_process >= of_query:
        knob, given, each, share = "max_concurrency", sizes.max_concurrency, PROCESS, of_process
    else:
        knob, given, each, share = "query_concurrency", sizes.query_concurrency, QUERY, of_query
    most = max(0, (admitted - needed + share) // each)
    return (
        f"{prefix}.{knob} {given} does not fit: all functions together need {needed} connections, and "
        f"{prefix}.database_class {sizes.database_class} has {admitted}; take at most {most} or a larger class."
    )
