"""The configured sources: what a source may be called and say, and which way its events come."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from infra.rules import SettingsError, Text, check

#: One configured source: its provider and that provider's own settings.
Source = Mapping[str, Any]

# The name is a path segment of the webhook URL and, in camel case, part of an output's name. No digit may follow a
# hyphen, or "a-1" and "a1" would share an output.
NAME = Text(r"(?=.{1,32}$)[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*", '"sendgrid" or "sendgrid-eu"')

# Lambda allows 4 KB for all environment variables of a function together, and the sources are one of them:
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
LARGEST_SOURCES_BYTES = 3_000


#: The one provider that needs no webhook: its events come through the stack's own SNS topic.
TOPIC_PROVIDER = "ses"


def is_fed_by_topic(source: Source) -> bool:
    """Tell whether the source's events come through the topic."""
    return bool(source["provider"] == TOPIC_PROVIDER)


def is_on_http(source: Source) -> bool:
    """Tell whether the door opens for the source; for one that the topic feeds, only where its settings say so."""
    return not is_fed_by_topic(source) or source.get("http") is True


def camel(source: str) -> str:
    """Write a source's name the way names in a template are written."""
    return "".join(part.capitalize() for part in source.split("-"))


def encode(sources: Mapping[str, Source]) -> str:
    """Write the sources as the functions read them from their environment."""
    return json.dumps(sources, separators=(",", ":"), sort_keys=True)


def check_sources(key: str, sources: object, providers: Collection[str] | None) -> None:
    """Refuse sources that no function could serve, naming the first that is wrong."""
    if not isinstance(sources, Mapping) or not sources:
        raise SettingsError(
            f'{key} must be an object with at least one source, such as {{"ses": {{"provider": "ses"}}}}.'
        )
    for name, source in sources.items():
        check(f"the source name in {key}", name, NAME)
        _check_source(f"{key}.{name}", source, providers)
    fed = [name for name, source in sources.items() if is_fed_by_topic(source)]
    if len(fed) > 1:
        raise SettingsError(
            f"{key} may name one source fed by the stack's SNS topic, not {len(fed)} ({', '.join(fed)})."
        )
    if (size := len(encode(sources))) > LARGEST_SOURCES_BYTES:
        raise SettingsError(f"{key} must fit {LARGEST_SOURCES_BYTES} bytes of JSON, not {size}.")


def _check_source(key: str, source: object, providers: Collection[str] | None) -> None:
    if not isinstance(source, Mapping) or not isinstance(source.get("provider"), str):
        raise SettingsError(f'{key} must be an object that names its provider, such as {{"provider": "sendgrid"}}.')
    if providers is not None and source["provider"] not in providers:
        known = ", ".join(sorted(providers))
        raise SettingsError(f"{key}.provider must be one of {known}, not {json.dumps(source['provider'])}.")
    if providers is not None:
        _check_options(key, source)


def _check_options(key: str, source: Source) -> None:
    """Let the provider itself refuse settings that could never work."""
    from mailfold.errors import SettingsError as Unusable
    from mailfold.providers import REGISTRY
    from mailfold.request import Source as Configured

    provider = REGISTRY.get(source["provider"])
    if provider is not None and provider.check is not None:
        try:
            provider.check(Configured(name=key, provider=source["provider"], options=source))
        except Unusable as error:
            raise SettingsError(f"{error}.") from error


def known_providers() -> Collection[str] | None:
    """Name the providers the package can parse, or nothing where the package is not at hand."""
    try:
        from mailfold.providers import REGISTRY
    except ImportError:
        return None
    return tuple(REGISTRY)
