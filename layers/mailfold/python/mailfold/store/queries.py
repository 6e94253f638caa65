"""The SQL statements, one file each, under the names of their files."""

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """Return the text of one statement."""
    return files("mailfold.store").joinpath("sql", f"{name}.sql").read_text("utf-8")
