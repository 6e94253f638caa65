"""Databases that count what they are asked, and fail where a test wants them to."""

from collections.abc import Callable, Mapping

from mailfold.store.connection import Database, Parameter, Rows


class WatchedDatabase(Database):
    """Remembers its statements and can fail at one of them, before or after it was done."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.statements: list[str] = []
        self._fault: tuple[int, bool, BaseException] | None = None

    def fail_at(self, number: int, error: BaseException, *, done: bool) -> None:
        """Fail once, at the statement of this number, counted from here."""
        self._fault = len(self.statements) + number, done, error

    def execute(self, sql: str) -> Rows:
        return self._watched(sql, lambda: super(WatchedDatabase, self).execute(sql))

    def run(self, name: str, parameters: Mapping[str, Parameter]) -> Rows:
        return self._watched(name, lambda: super(WatchedDatabase, self).run(name, parameters))

    def _watched(self, name: str, run: Callable[[], Rows]) -> Rows:
        self.statements.append(name)
        if self._fault is None or self._fault[0] != len(self.statements):
            return run()
        _, done, error = self._fault
        self._fault = None
        with self._translated():
            if done:
                run()
            raise error
