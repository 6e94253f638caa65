"""What a secret of each provider looks like, and how long its old one may still be needed."""

import base64
import re
from collections.abc import Callable

from mailfold.providers.mailersend import PUBLIC_TEST_SECRET
from mailfold.signatures import CREDENTIALS

#: Says what is wrong with a secret, to follow "it"; None if nothing is.
Form = Callable[[str], str | None]

SHORTEST = 8
_PLACEHOLDER = re.compile(
    r"(basic:|bearer:|header:)?(\w+:)?"
    r"(change[-_ ]?me|replace[-_ ]?me|placeholder|to[-_ ]?do|tbd|secret|password|example|test)|"
    r"(basic:|bearer:|header:)?(\w+:)?(x+|\.{3}|…|<.*>|your[-_ ].*)",
    re.IGNORECASE,
)
_TOPIC = re.compile(r"arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w.-]+")


def fault_of(provider: str, secret: str) -> str | None:
    """Say what is wrong with a secret of a provider, never quoting it; None if it may well be right."""
    if secret != secret.strip():
        return "has spaces or line ends around it"
    if _PLACEHOLDER.fullmatch(secret):
        return "is a placeholder"
    return FORMS.get(provider, _shared)(secret)


def horizon_hours(provider: str) -> int:
    """Return for how many hours after a switch a request may still be proven with the old secret."""
    return HORIZON_HOURS.get(provider, LONGEST_HORIZON_HOURS)


def _shared(secret: str) -> str | None:
    if not secret.isprintable():
        return "holds line ends or control characters"
    return f"is shorter than {SHORTEST} characters" if len(secret) < SHORTEST else None


def _credential(secret: str) -> str | None:
    if not secret.startswith(CREDENTIALS):
        return "is no credential: it must begin with basic:, bearer: or header:"
    scheme, _, rest = secret.partition(":")
    if scheme != "bearer" and not all(part.strip() for part in rest.partition(":")):
        return f"is incomplete: it must read {scheme}:{'user:password' if scheme == 'basic' else 'Name:value'}"
    return _shared(rest)


def _sendgrid(secret: str) -> str | None:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    if secret.startswith(CREDENTIALS):
        return _credential(secret)
    known = isinstance(_public_key(secret), EllipticCurvePublicKey)
    return None if known else "is no public key of SendGrid's signed event webhook, nor a credential"


def _postal(secret: str) -> str | None:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    return None if isinstance(_public_key(secret), RSAPublicKey) else "is no RSA public key"


def _public_key(text: str) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

    try:
        if "BEGIN" in text:
            return load_pem_public_key(text.encode())
        return load_der_public_key(base64.b64decode(text, validate=True))
    except (ValueError, UnsupportedAlgorithm):
        return None


def _standard(*prefixes: str) -> Form:
    def fault(secret: str) -> str | None:
        prefix = next((each for each in prefixes if secret.startswith(each)), None)
        if prefix is None:
            return f"does not begin with {' or '.join(prefixes)}"
        text = secret.removeprefix(prefix)
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except ValueError:
            key = b""
        return None if len(key) >= SHORTEST else f"has no base64 key behind {prefix}"

    return fault


def _mailersend(secret: str) -> str | None:
    return "is the public test secret of MailerSend's documents" if secret == PUBLIC_TEST_SECRET else _shared(secret)


def _topic(secret: str) -> str | None:
    return None if _TOPIC.fullmatch(secret) else "is not the ARN of an SNS topic"


#: By provider; all others share a secret of any form.
FORMS: dict[str, Form] = {
    "brevo": _credential,
    "mailersend": _mailersend,
    "mailjet": _credential,
    "postal": _postal,
    "postmark": _credential,
    "resend": _standard("whsec_"),
    "sendgrid": _sendgrid,
    "ses": _topic,
    "sparkpost": _credential,
    "standardwebhooks": _standard("whsec_", "whpk_"),
}

#: The longest of all (Standard Webhooks' schedule), and of whoever is not listed.
LONGEST_HORIZON_HOURS = 76

#: Each from the section on rotation in the provider's page in docs/providers, rounded up.
HORIZON_HOURS = {
    "brevo": 12,
    "mailersend": 72,
    "mailgun": 9,
    "mailjet": 24,
    "mailtrap": 4,
    "mandrill": 24,
    "postal": 1,
    "postmark": 72,
    "resend": 28,
    "sendgrid": 24,
    "sesmetric": 72,
    "sparkpost": 8,
    "unisender": 24,
}
