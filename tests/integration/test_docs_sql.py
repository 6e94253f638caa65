"""The queries in the documents run on the schema that migrate makes."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUERIES = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for number, block in enumerate(BLOCK.findall(page.read_text()), 1)
]


def test_readme_has_queries() -> None:
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 3


@pytest.mark.parametrize("query", QUERIES)
def test_query_runs(store: Any, query: str) -> None:
    store.rows("begin")
    store.rows(query)
    # A block may create a role, which would outlive this test's database.
    store.rows("rollback")
