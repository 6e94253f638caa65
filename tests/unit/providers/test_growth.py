"""Every adapter on long hostile text in the place of anything: what parse costs grows in step with the text."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from mailfold.errors import MalformedPayload, UnparseableEvent
from mailfold.jsontext import dumps
from mailfold.providers import REGISTRY
from mailfold.providers.base import address_of, time_of
from mailfold.request import Source
from samples import Raw, sampler
from tests.support.growth import grows_in_step
from tests.support.origins import parse

ATOMS = ["a", "<", "<a", "@", "a@", " ", ",", '"', "\\", "1", "5.1.", "{", "&a=b", "%25", "\ud800"]
Path = tuple[Any, ...]


def filled(atom: str, length: int) -> str:
    return (atom * (length // len(atom) + 1))[:length]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(raw: Raw, path: Path, value: Any) -> Raw:
    """Return a copy with something else in one place."""
    if not path:
        return value  # type: ignore[no-any-return]
    copied: Any = copy.copy(raw)
    copied[path[0]] = put(copied[path[0]], path[1:], value)
    return copied  # type: ignore[no-any-return]


def without_addresses(value: Any) -> Any:
    """Return a raw event that names its recipient nowhere, so that other fields are asked."""
    if isinstance(value, dict):
        return {key: without_addresses(item) for key, item in value.items() if not _is_address(item)}
    return [without_addresses(item) for item in value] if isinstance(value, list) else value


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and "@" in value


def variants(provider: str) -> Iterator[tuple[str, Raw, Path]]:
    """Return each place of each sample once; the same place of two kinds of events may be read in two ways."""
    seen: set[tuple[Any, ...]] = set()
    for name, sample in sampler(provider).SAMPLES.items():
        whole: Raw = dict(sample)
        for raw in (whole, without_addresses(whole)):
            for path in places(whole):
                kind = str(raw.get("event") or raw.get("type") or raw.get("eventType") or raw.get("RecordType"))
                shape = (raw is whole, kind, path)
                if shape not in seen and _has_place(raw, path):
                    seen.add(shape)
                    yield name, raw, path
        # What only the whole one has, in the one without any other address.
        for path in places(whole):
            bare = without_addresses(whole)
            if not _has_place(bare, path) and (path, "alone") not in seen:
                seen.add((path, "alone"))
                with contextlib.suppress(KeyError, IndexError, TypeError):
                    inside = bare
                    for key in path[:-1]:
                        inside = inside[key]
                    inside[path[-1]] = ""
                    yield name, bare, path


def _has_place(raw: Any, path: Path) -> bool:
    with contextlib.suppress(KeyError, IndexError, TypeError):
        for key in path:
            raw = raw[key]
        return True
    return False


@pytest.mark.parametrize("provider", sorted(REGISTRY))
@pytest.mark.parametrize("atom", ATOMS)
def test_parse_costs_no_more_than_a_field_is_long(provider: str, atom: str) -> None:
    for name, raw, path in variants(provider):

        def work(length: int, raw: Raw = raw, path: Path = path) -> None:
            with contextlib.suppress(UnparseableEvent):
                parse(provider, put(raw, path, filled(atom, length)))

        assert grows_in_step(work), f"{name}: {atom!r} at {path}"


@pytest.mark.parametrize("provider", sorted(name for name in REGISTRY if REGISTRY[name].headers))
@pytest.mark.parametrize("atom", ATOMS)
def test_parse_costs_no_more_than_a_header_is_long(provider: str, atom: str) -> None:
    for sample in sampler(provider).SAMPLES.values():

        def work(length: int, sample: Raw = sample) -> None:
            headers = dict.fromkeys(REGISTRY[provider].headers, filled(atom, length))
            with contextlib.suppress(UnparseableEvent):
                parse(provider, sample, headers=headers)

        assert grows_in_step(work), atom


@pytest.mark.parametrize("provider", sorted(REGISTRY))
@pytest.mark.parametrize("shape", ["[]", '{"a":', "[[", "a=b&", "&", "%25", '"', "\\", '{"a":[{}],', "1"])
def test_split_costs_no_more_than_a_body_is_long(provider: str, shape: str) -> None:
    source = Source(name="main", provider=provider, options=sampler(provider).OPTIONS)

    def work(length: int) -> None:
        for body in (filled(shape, length), dumps([filled(shape, length)]), f"a={filled(shape, length)}"):
            with contextlib.suppress(MalformedPayload):
                REGISTRY[provider].split(body.encode("utf-8", "surrogatepass"), source)

    assert grows_in_step(work)


READERS = {"address_of": address_of, "time_of": time_of}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("atom", [*ATOMS, ".", "1.", "-", "2026-01-01T", "²", "٣", "<a> ", "> ", "\n", "Z"])
def test_a_reading_aid_costs_no_more_than_its_text_is_long(reader: str, atom: str) -> None:
    for front, back in (("", ""), ("<", ""), ("<a>", ""), ("", ">"), ("1", ".5"), ("2026-01-01T00:00:00.", "Z")):

        def work(length: int, front: str = front, back: str = back) -> None:
            with contextlib.suppress(UnparseableEvent):
                READERS[reader](front + filled(atom, length) + back)

        assert grows_in_step(work), (front, back)


@pytest.mark.parametrize("number", [10**4299, -(10**4299), 1.7e308, 5e-324], ids=["int", "minus", "float", "small"])
def test_a_number_of_any_size_is_no_time(number: float) -> None:
    with contextlib.suppress(UnparseableEvent):
        assert time_of(number).year < 10_000
