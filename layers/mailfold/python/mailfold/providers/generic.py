"""Any sender of HMAC-signed JSON, described in the source's settings."""

from collections.abc import Sequence
from typing import Any

from mailfold.errors import SettingsError, VerificationError
from mailfold.events import Event, Raw
from mailfold.providers.base import LONGEST_HORIZON_HOURS, Origin, Provider
from mailfold.providers.mapping import check_configured, parse_configured, split_configured
from mailfold.request import Request, Source
from mailfold.secret_forms import shared_key
from mailfold.signatures import Proof, check_fresh, prove_hmac

NAME = "generic"

ALGORITHMS = {"sha256", "sha512"}
ENCODINGS = {"hex", "base64"}
#: For senders that sign each attempt again; one that repeats the first stamp needs its own retry horizon here.
TOLERANCE_S = 300

DEFAULTS = {"id": "/id", "type": "/type"}


def check(source: Source) -> None:
    """Refuse settings with which no request could ever be verified or read."""
    known = ("signature_header", "prefix", "algorithm", "encoding", "timestamp_header", "tolerance_s")
    check_configured(source, *known)
    options = source.options
    if options.get("algorithm", "sha256") not in ALGORITHMS or options.get("encoding", "hex") not in ENCODINGS:
        raise SettingsError(f"the source {source.name}: algorithm is sha256 or sha512, encoding is hex or base64")
    tolerance_s = options.get("tolerance_s", TOLERANCE_S)
    if isinstance(tolerance_s, bool) or not isinstance(tolerance_s, int) or tolerance_s <= 0:
        raise SettingsError(f"the source {source.name}: tolerance_s must be a whole number of seconds")


def verify(request: Request, source: Source, secrets: Sequence[str]) -> Proof:
    """Check the HMAC over the body, or over timestamp, a dot and the body where the sender has a timestamp header."""
    options = source.options
    header = str(options.get("signature_header", "x-signature")).lower()
    algorithm, encoding = str(options.get("algorithm", "sha256")), str(options.get("encoding", "hex"))
    if algorithm not in ALGORITHMS or encoding not in ENCODINGS:
        raise VerificationError
    return prove_hmac(
        secrets=secrets,
        message=(*_stamped(request, options), request.body),
        signature=request.header(header).removeprefix(str(options.get("prefix", ""))),
        algorithm=algorithm,
        encoding=encoding,
    )


def _stamped(request: Request, options: Any) -> tuple[bytes, ...]:
    if "timestamp_header" not in options:
        return ()
    stamp = request.header(str(options["timestamp_header"]).lower())
    check_fresh(stamp, now=request.received_at, tolerance_s=int(options.get("tolerance_s", TOLERANCE_S)))
    return stamp.encode(), b"."


def parse(raw: Raw, origin: Origin) -> list[Event]:
    """Read one event through the pointers of the source's settings."""
    return parse_configured(raw, origin, provider=NAME, defaults=DEFAULTS)


PROVIDER = Provider(
    name=NAME,
    verify=verify,
    split=split_configured,
    parse=parse,
    check=check,
    secret_form=shared_key,
    horizon_hours=LONGEST_HORIZON_HOURS,
)
