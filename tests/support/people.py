"""Somebody whose data stand wherever a provider may put them."""

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from samples import Raw, sampler

#: The recipients of the sample events.
_SAMPLED = re.compile(r"(ann|bob)@example\.com", re.IGNORECASE)
#: Fields that hold the raw's own identity, by provider, as paths.
_IDS = {
    "generic": (("uid",), ("mail",)),
    "mailersend": (("data", "id"), ("data", "email", "message", "id")),
    "mailgun": (("id",), ("message", "headers", "message-id")),
    "mailtrap": (("event_id",), ("message_id",)),
    "mailwebhook": (("message_id",),),
    "mandrill": (("_id",), ("msg", "_id")),
    "postal": (("uuid",), ("payload", "message", "message_id"), ("payload", "original_message", "message_id")),
    "postmark": (("MessageID",),),
    "resend": (("data", "email_id"),),
    "sendgrid": (("sg_event_id",), ("sg_message_id",), ("smtp-id",)),
    "ses": (("mail", "messageId"), ("bounce", "feedbackId"), ("complaint", "feedbackId")),
    "sesmetric": (("id",), ("data", "message_id")),
    "sparkpost": (("*", "event_id"), ("*", "message_id"), ("*", "transmission_id")),
    "standardwebhooks": (("id",), ("data", "message_id")),
    "brevo": (("message-id",),),
    "unisender": (("event_data", "job_id"),),
}
#: Where a provider tells of the person, below the raw event.
_ABOUT = {
    "brevo": ((),),
    "generic": (("to",), ()),
    "mailersend": (("data", "email", "recipient"), ("data", "morph")),
    "mailgun": (("client-info",), ("geolocation",), ("message", "headers"), ("user-variables",), ()),
    "mailjet": ((), ("geo",)),
    "mailtrap": ((), ("custom_variables",)),
    "mailwebhook": ((),),
    "mandrill": ((), ("msg",), ("msg", "metadata"), ("location",), ("reject",)),
    "postal": (("payload",), ("payload", "message")),
    "postmark": ((), ("Geo",), ("Metadata",), ("Client",)),
    "resend": (("data",), ("data", "click"), ("data", "open")),
    "sendgrid": ((),),
    "ses": (("mail", "commonHeaders"), ("open",), ("click",), ("mail", "tags")),
    "sesmetric": (("data",),),
    "sparkpost": (("*",), ("*", "rcpt_meta"), ("*", "geo_ip")),
    "standardwebhooks": (("data",),),
    "unisender": (("event_data",), ("event_data", "delivery_info")),
}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Whoever is erased, or must not be."""

    address: str
    name: str
    ip: str
    agent: str

    @property
    def details(self) -> dict[str, str]:
        """What providers tell of a person beside the address, under the names that they use."""
        return {
            "name": self.name,
            "ip": self.ip,
            "ipAddress": self.ip,
            "ip_address": self.ip,
            "IP": self.ip,
            "useragent": self.agent,
            "user-agent": self.agent,
            "user_agent": self.agent,
            "userAgent": self.agent,
            "UserAgent": self.agent,
            "agent": self.agent,
            "subject": f"Dear {self.name}",
            "link": f"https://example.com/leave?email={quote(self.address)}&name={quote(self.name)}",
            "header": f"{self.name} <{self.address}>",
        }

    def spellings(self) -> dict[str, str]:
        """Return the ways in which others write the address."""
        name, domain = self.address.split("@")
        return {
            "plain": self.address,
            "capitals": self.address.upper(),
            "angles": f"<{self.address}>",
            "mailto": f"mailto:{self.address}?subject=x",
            "display name": f'"{self.name}" <{self.address}>',
            "quoted": f'"{name}"@{domain}',
            "commented": f"{name}(comment)@{domain}",
            "comment behind the at": f"{name}@(comment){domain}",
            "spaced": f"{name} @ {domain}",
            "spelled": f"{name} at {domain}",
            "spelled in brackets": f"{name} [at] {domain.replace('.', ' [dot] ')}",
            "percent": quote(self.address),
            "percent twice": quote(quote(self.address)),
            "percent whole": "".join(f"%{octet:02X}" for octet in self.address.encode()),
            "html": f"{name}&#64;{domain}",
            "html named": f"{name}&commat;{domain.replace('.', '&period;')}",
            "html whole": "".join(f"&#x{ord(char):x};" for char in self.address),
            "json whole": "".join(f"\\u{ord(char):04x}" for char in self.address),
            "json twice": json.dumps(json.dumps(f"<{self.address}>")),
            "quoted printable": f"{name}=40{domain}",
            "return path": f"bounce+{name}={domain}@bounces.example.org",
        }


def events_of(person: Person, provider: str) -> Iterator[tuple[str, Raw]]:
    """Yield the sample events of a provider as if they were about this person, each with its kind."""
    for number, (kind, sample) in enumerate(sampler(provider).SAMPLES.items()):
        raw = _mapped(copy.deepcopy(dict(sample)), lambda text: _SAMPLED.sub(person.address, text))
        for path in _ABOUT[provider]:
            for place in _reach(raw, path, create=bool(path)):
                for name, value in person.details.items():
                    place.setdefault(name, value)
        if provider == "ses":
            raw["mail"]["commonHeaders"]["to"] = [person.details["header"]]
        for path in _IDS.get(provider, ()):
            for place in _reach(raw, path[:-1]):
                if path[-1] in place:
                    place[path[-1]] = f"id-{person.address}-{number}"
        yield kind, raw


def ids_of(person: Person, headers: tuple[str, ...], number: int) -> dict[str, str]:
    """Return request headers that hold the address in an id."""
    return dict.fromkeys(headers, f"<{person.address}.{number}@mailer>")


def _reach(value: Any, path: tuple[str, ...], *, create: bool = False) -> Iterator[dict[str, Any]]:
    if not path:
        if isinstance(value, dict):
            yield value
        return
    if not isinstance(value, dict):
        return
    if path[0] == "*":
        for below in value.values():
            yield from _reach(below, path[1:], create=create)
    elif isinstance(value.get(path[0]), dict):
        yield from _reach(value[path[0]], path[1:], create=create)
    elif create and path[0] not in value:
        value[path[0]] = {}
        yield from _reach(value[path[0]], path[1:], create=create)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(below, change) for name, below in value.items()}
    if isinstance(value, list):
        return [_mapped(below, change) for below in value]
    return value
