"""Files that a command writes: they may hold addresses."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from cli.errors import CommandError


@contextlib.contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """Open a new file that only its owner may read, from its first byte; one that is there is never written over."""
    try:
        # The mode at the creation: a change of it afterwards would leave a moment in which anybody could open the file.
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline=""
        ) as file:
            yield file
    except OSError as exc:
        raise CommandError(f"{path} cannot be written: {exc.strerror}") from exc
