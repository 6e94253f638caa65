"""The authorities that a database's certificate must descend from."""

import ssl
from datetime import UTC, datetime
from importlib.resources import files

from cryptography import x509

from mailfold.store.connection import _tls

BUNDLE = files("mailfold.store").joinpath("certificates", "rds-ca-bundle.pem").read_bytes()


def test_every_authority_loads_and_none_has_expired() -> None:
    authorities = x509.load_pem_x509_certificates(BUNDLE)

    now = datetime.now(UTC)
    assert len(authorities) == BUNDLE.count(b"BEGIN CERTIFICATE") > 50
    assert [
        authority.subject.rfc4514_string() for authority in authorities if authority.not_valid_after_utc < now
    ] == []


def test_every_authority_is_of_rds() -> None:
    authorities = x509.load_pem_x509_certificates(BUNDLE)

    assert all("RDS" in authority.subject.rfc4514_string() for authority in authorities)


def test_a_server_must_present_a_certificate_of_its_own_name() -> None:
    context = _tls()

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(context.get_ca_certs()) == len({cert["serialNumber"] for cert in context.get_ca_certs()}) > 50
