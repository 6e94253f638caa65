"""What roles.sql gives to each role, read from the file itself, so that a database can be held against it."""

import re
from dataclasses import asdict, dataclass
from functools import cache

from mailfold.jsontext import dumps
from mailfold.store.connection import Transaction
from mailfold.store.queries import query
from mailfold.store.reading import read

_GRANT = re.compile(
    r"^grant (?P<rights>(?:(?! on ).)++) on (?P<objects>(?:(?! to ).)++) to (?P<role>\w++);$", re.MULTILINE
)
_RIGHT = re.compile(r"\b(?P<right>\w++)(?: \((?P<columns>[^()]*+)\))?(?:, |$)")
_MEMBER = re.compile(r"^grant (?P<role>\w+) to (?P<member>\w+) with inherit false, set true;$", re.MULTILINE)
_LIMIT = re.compile(r"^alter role (?P<role>\w+) set (?P<name>\w+) = '(?P<value>[^']+)';$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Right:
    """One right of one role."""

    role: str
    right: str
    #: A table, a view, or a function with its argument types.
    object: str
    #: Empty where the right is on the whole object.
    column: str = ""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A role that another one takes for a transaction; it cannot log in itself."""

    role: str
    member: str


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One setting that a role begins each session with."""

    role: str
    name: str
    value: str


@cache
def rights() -> tuple[Right, ...]:
    """Return every right that roles.sql gives."""
    return tuple(right for grant in _GRANT.finditer(query("roles")) for right in _rights_of(grant))


def _rights_of(grant: re.Match[str]) -> list[Right]:
    objects = grant["objects"].removeprefix("function ")
    names = [objects] if "(" in objects else objects.split(", ")
    return [
        Right(role=grant["role"], right=found["right"], object=name, column=column.strip())
        for name in names
        for found in _RIGHT.finditer(grant["rights"])
        for column in (found["columns"] or "").split(",")
    ]


@cache
def login_roles() -> tuple[str, ...]:
    """Return every role that a function logs in as."""
    return tuple(sorted({right.role for right in rights()} - {taken.role for taken in members()}))


@cache
def members() -> tuple[Member, ...]:
    """Return which roles may be taken, and by which."""
    return tuple(Member(**found.groupdict()) for found in _MEMBER.finditer(query("roles")))


@cache
def limits() -> tuple[Limit, ...]:
    """Return every limit that roles.sql sets."""
    return tuple(Limit(**found.groupdict()) for found in _LIMIT.finditer(query("roles")))


def deviations(tx: Transaction) -> list[dict[str, str]]:
    """Return where the roles of the database differ from roles.sql, each with what is wrong about it."""
    return read(
        tx,
        "doctor_roles",
        {
            "rights": dumps([asdict(right) for right in rights()]),
            "members": dumps([asdict(member) for member in members()]),
            "limits": dumps([asdict(limit) for limit in limits()]),
        },
    )
