"""`make openapi`: write the document of the query API again; a test holds it to the routes."""

import json
from pathlib import Path

from mailfold.steps.query.openapi import document
from mailfold.steps.query.routes import ROUTES

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def main() -> None:
    """Write it."""
    DOCUMENT.write_text(json.dumps(document(ROUTES), indent=2) + "\n")
    print(f"written: {DOCUMENT.relative_to(DOCUMENT.parents[1])}")


if __name__ == "__main__":
    main()
