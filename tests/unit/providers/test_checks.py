"""Source settings that could never work are refused with a sentence, before anything is deployed or started."""

from typing import Any

import pytest

from mailfold.errors import SettingsError
from mailfold.providers import REGISTRY
from mailfold.request import Source
from samples import sampler

CHECKED = sorted(name for name, provider in REGISTRY.items() if provider.check)


def check(name: str, options: dict[str, Any]) -> None:
    REGISTRY[name].check(Source(name="main", provider=name, options={"provider": name, **options}))  # type: ignore[misc]


@pytest.mark.parametrize("name", CHECKED)
def test_the_samples_settings_pass(name: str) -> None:
    check(name, dict(sampler(name).OPTIONS))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mandrill", {}),
        ("mandrill", {"url": "hooks.example.org"}),
        ("generic", {"signature-header": "X-Signature"}),
        ("generic", {"algorithm": "md5"}),
        ("generic", {"encoding": "base32"}),
        ("generic", {"tolerance_s": "300"}),
        ("generic", {"tolerance_s": 0}),
        ("generic", {"id": "data.id"}),
        ("generic", {"events": 7}),
        ("generic", {"types": {"bounce": "bounced/very"}}),
        ("generic", {"types": ["bounced"]}),
        ("standardwebhooks", {"recipients": "/to"}),
        ("mailwebhook", {"types": {"reply": "answered"}}),
    ],
)
def test_settings_that_cannot_work_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="main"):
        check(name, options)
