"""Whether a certificate may sign: whom it names and when it holds."""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache

from mailfold.errors import VerificationError

#: Certificates that are kept parsed, by their text.
PARSED_CERTIFICATES = 16


def check_certificate(pem: str, *, names: Collection[str], now: datetime) -> None:
    """Refuse a certificate that names none of these hosts, or does not hold now."""
    try:
        named, begins, ends = _read(pem)
    except ValueError:
        raise VerificationError from None
    if not named & set(names) or not begins <= now <= ends:
        raise VerificationError


@lru_cache(PARSED_CERTIFICATES)
def _read(pem: str) -> tuple[frozenset[str], datetime, datetime]:
    # Loaded on first use: functions that never meet a certificate start without it.
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem.encode("utf-8", "surrogatepass"))
    names = {str(name.value) for name in certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)}
    try:
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names.update(listed.value.get_values_for_type(x509.DNSName))
    except x509.ExtensionNotFound:
        pass
    except (x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as fault:
        raise ValueError(str(fault)) from None
    return frozenset(names), certificate.not_valid_before_utc, certificate.not_valid_after_utc
