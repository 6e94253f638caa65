"""What a secret must look like: one rule for the command that sets it, for doctor, and for the door that uses it."""

import base64
import re
from collections.abc import Callable

from mailfold.signatures import CREDENTIALS

#: Says what is wrong with a secret, to follow "it"; None if nothing is. Each provider states the form of its own.
Form = Callable[[str], str | None]

#: One signed request is enough to try short keys offline. What providers issue is longer: Mandrill's 22 characters are
#: the shortest.
SHORTEST_KEY_BYTES = 16
#: A person may choose it, and each guess is a request that the throttle counts. As NIST SP 800-63B has it.
SHORTEST_CREDENTIAL_BYTES = 8
#: A random value never has fewer different characters; a row of x or of zeros does.
FEWEST_DIFFERENT = 5
MONOTONOUS = "repeats the same few characters"
ED25519_BYTES = 32
#: The vector of the specification of Standard Webhooks; each reader of it could sign with it.
PUBLIC_VECTOR = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

_BEFORE_THE_KEY = re.compile(r"(?:basic|header):[^:]*:|bearer:|whsec_|whpk_|whsk_", re.IGNORECASE)
#: Accounts that AWS prints in its own documents.
_SAMPLE_ARN = re.compile(r"arn:aws[\w-]*:[\w-]+:[\w-]*:(?:123456789012|111122223333|444455556666|777788889999)(?::.*)?")
_STANDS_FOR_A_VALUE = re.compile(
    r"your[-_ ].*"
    r"|(?-i:[Tt]he|[Mm]y)(?-i:[-_ .:]+[A-Z]?[a-z]+)+[0-9]{0,3}|(?-i:THE|MY)(?-i:[-_ .:]+[A-Z]+)+[0-9]{0,3}"
    r"|<.*>|\[.*\]|\{.*\}|%\w+%|\$\{?[A-Za-z_]\w*\}?|\$\(.*\)"
    r"|.*…|….*|.*\.\.\.|\.\.\..*"
    r"|[x*.#?_-]+",
    re.IGNORECASE | re.DOTALL,
)
#: A value of nothing but these words, and a digit or two, is printed and not made.
_WORDS = (
    "account accounts an api app auth bar baz change client code credential credentials default demo dummy "
    "enter example fake fill foo for from goes here hook in insert key keys mailfold me my name new of old our "
    "passphrase passwd password paste pass placeholder private provider public put pwd random replace sample secret "
    "secrets shared sign signing signature some source string tbd test testing text that this the todo to token "
    "topic user username value verification verify webhook webhooks with your yours"
)
_NOTHING_BUT_WORDS = re.compile(f"(?:{'|'.join(_WORDS.split())})+[0-9]{{0,3}}")
_JOINTS = str.maketrans("", "", " -_.:/+!?*\"'")
#: What is longer was not written by a person to be replaced.
LONGEST_PLACEHOLDER = 80


def fault_of(secret: str, form: Form) -> str | None:
    """Say what is wrong with a secret of this form, never quoting it; None if it may well be right."""
    # The line end of a PEM file is no part of the key; that of any other secret would be signed with.
    if secret != secret.strip() and not secret.lstrip().startswith("-----BEGIN"):
        return "has spaces or line ends around it"
    if is_placeholder(secret):
        return "is a placeholder"
    return form(secret)


def is_placeholder(secret: str) -> bool:
    """Tell a value that a page prints in the place of a secret, or that is made like one."""
    found = _BEFORE_THE_KEY.match(secret)
    core = secret[found.end() if found else 0 :].strip()
    if _STANDS_FOR_A_VALUE.fullmatch(core) or _SAMPLE_ARN.fullmatch(core):
        return True
    return len(core) <= LONGEST_PLACEHOLDER and bool(_NOTHING_BUT_WORDS.fullmatch(core.lower().translate(_JOINTS)))


def shared_key(secret: str) -> str | None:
    """Judge a key of any text, which signs as it stands."""
    return _text_fault(secret, SHORTEST_KEY_BYTES)


def credential(secret: str) -> str | None:
    """Judge what a provider that signs nothing repeats in every request."""
    if not secret.startswith(CREDENTIALS):
        return "is no credential: it must begin with basic:, bearer: or header:"
    scheme, _, rest = secret.partition(":")
    name, _, value = rest.partition(":") if scheme != "bearer" else ("any", "", rest)
    if not (name.strip() and value.strip()):
        forms = {"basic": "user:password", "bearer": "token", "header": "Name:value"}
        return f"is incomplete: it must read {scheme}:{forms[scheme]}"
    return _text_fault(rest if not rest.isprintable() else value.strip(), SHORTEST_CREDENTIAL_BYTES)


def standard_webhooks(*prefixes: str) -> Form:
    """Judge keys of Standard Webhooks with these prefixes: base64 of an HMAC key, or of an Ed25519 public key."""

    def form(secret: str) -> str | None:
        prefix = next((each for each in prefixes if secret.startswith(each)), None)
        if prefix is None:
            return f"does not begin with {' or '.join(prefixes)}"
        if secret == PUBLIC_VECTOR:
            return "is the public test secret of Standard Webhooks' specification"
        key = _base64(secret.removeprefix(prefix))
        if prefix == "whpk_":
            return None if len(key) == ED25519_BYTES else f"has no base64 key behind {prefix} of {ED25519_BYTES} bytes"
        if len(key) < SHORTEST_KEY_BYTES:
            return f"has no base64 key behind {prefix} of at least {SHORTEST_KEY_BYTES} bytes"
        return MONOTONOUS if len(set(key)) < FEWEST_DIFFERENT else None

    return form


def public_key_of(text: str) -> object | None:
    """Return the public key that is written as PEM or as base64 of its DER; None if it is none."""
    # Loaded on first use: only sources whose secret is a public key pay for it.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

    try:
        return load_pem_public_key(text.encode()) if "-----BEGIN" in text else load_der_public_key(_base64(text))
    except (ValueError, UnsupportedAlgorithm):
        return None


def _base64(text: str) -> bytes:
    joined = "".join(text.split())
    try:
        return base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)
    except ValueError:
        return b""


def _text_fault(text: str, shortest: int) -> str | None:
    if not text.isprintable():
        return "holds line ends or control characters"
    if len(text.encode("utf-8", "surrogatepass")) < shortest:
        return f"is shorter than {shortest} bytes"
    return MONOTONOUS if len(set(text)) < FEWEST_DIFFERENT else None
