"""The error tree: drawn as it is, each refusal with the status that its provider will see."""

import inspect
import re

import pytest

from mailfold import errors
from mailfold.errors import MailfoldError, Quarantine, Refused, VerificationError

EVERY_ERROR = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, MailfoldError)]


@pytest.mark.parametrize("kind", EVERY_ERROR)
def test_every_error_is_drawn_in_the_tree(kind: type[MailfoldError]) -> None:
    assert errors.__doc__ is not None

    drawn = re.findall(r"\b[A-Z]\w+(?=\s|$)", errors.__doc__)

    assert kind.__name__ in drawn


@pytest.mark.parametrize("kind", Refused.__subclasses__())
def test_every_refusal_is_drawn_with_its_status(kind: type[Refused]) -> None:
    assert errors.__doc__ is not None

    [drawn] = re.findall(rf"\b{kind.__name__} +(\d+)", errors.__doc__)

    assert int(drawn) == kind.status
    assert 400 <= kind.status < 500


def test_every_quarantine_has_a_kind_of_its_own() -> None:
    kinds = [kind.kind for kind in Quarantine.__subclasses__()]

    assert len(set(kinds)) == len(kinds)


def test_a_failed_verification_never_says_what_failed() -> None:
    said = {str(VerificationError())}

    assert said == {"not verified"}
    with pytest.raises(TypeError):
        VerificationError("the signature is wrong")  # type: ignore[call-arg]
