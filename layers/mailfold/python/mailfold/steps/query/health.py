"""Whether the database can be reached: looked at once in a few seconds, because anyone may ask."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time

from mailfold.errors import StoreError
from mailfold.steps.query.response import Response
from mailfold.store.connection import Database


@dataclass(kw_only=True)
class Health:
    """The newest look, whatever it found, in the memory of one environment."""

    kept_s: float = 5
    #: Wall time: a frozen environment must not take an old look for a new one.
    clock: Callable[[], float] = time
    _looked_at: float | None = None
    _found: Response | StoreError | None = None

    def tell(self, database: Database) -> Response:
        """Return the schema's version, or raise what the database failed with."""
        now = self.clock()
        if self._found is None or self._looked_at is None or not 0 <= now - self._looked_at < self.kept_s:
            self._found, self._looked_at = _look(database), now
        if isinstance(self._found, StoreError):
            raise self._found.with_traceback(None)
        return self._found


def _look(database: Database) -> Response | StoreError:
    before = database.connects
    try:
        with database.transaction(read_only=True) as tx:
            [[version]] = tx.run("read_schema_version", {})
    except StoreError as reason:
        return reason
    finally:
        if database.connects != before:
            # Nothing but this look needed it: an idle environment holds no connection for it.
            database.close()
    return Response(body={"database": "reachable", "schema_version": version})
