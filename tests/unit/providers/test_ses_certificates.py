"""SNS over HTTPS: one address for each certificate, which must name SNS and hold on the day."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from mailfold import fetch
from mailfold.errors import VerificationError
from mailfold.fetch import Fetcher
from mailfold.providers.ses import certificate_url
from mailfold.request import Request
from samples import Keys
from samples.ses import CERTIFICATE_URL, TOPIC, make_keys
from tests.support.endpoint import NOW, Endpoint
from tests.unit.providers.test_ses_https import CONFIRMATION, HOST, NOTIFICATION, post, sealed

DAY = timedelta(days=1)
NAME = CERTIFICATE_URL.rsplit("/", 1)[1]
REGIONS = {
    "arn:aws:sns:eu-west-1:210987654321:t": "sns.eu-west-1.amazonaws.com",
    "arn:aws:sns:af-south-1:210987654321:t": "sns.af-south-1.amazonaws.com",
    "arn:aws-us-gov:sns:us-gov-east-1:210987654321:t": "sns.us-gov-east-1.amazonaws.com",
    "arn:aws-cn:sns:cn-north-1:210987654321:t": "sns.cn-north-1.amazonaws.com.cn",
}
#: Other spellings of the one address, which a lenient reader takes for it, and some that only look like it.
SPELLINGS = [
    f"{CERTIFICATE_URL}?",
    f"{CERTIFICATE_URL}?a=1",
    f"{CERTIFICATE_URL}#",
    f"{CERTIFICATE_URL}#a",
    f"{CERTIFICATE_URL};",
    f"{CERTIFICATE_URL}\t",
    f"{CERTIFICATE_URL}\n",
    f" {CERTIFICATE_URL}",
    f"\x00{CERTIFICATE_URL}",
    CERTIFICATE_URL.replace("https", "ht\ttps"),
    CERTIFICATE_URL.replace("sns.", "s\nns."),
    CERTIFICATE_URL.replace("Simple", "Sim\rple"),
    CERTIFICATE_URL.replace("https", "HTTPS"),
    CERTIFICATE_URL.replace("https", "Https"),
    CERTIFICATE_URL.replace("amazonaws", "AmazonAWS"),
    CERTIFICATE_URL.replace("sns.", "SNS."),
    CERTIFICATE_URL.replace(".com/", ".com:443/"),
    CERTIFICATE_URL.replace(".com/", ".com:/"),
    CERTIFICATE_URL.replace(".com/", ".com./"),
    CERTIFICATE_URL.replace(".com/", ".com//"),
    CERTIFICATE_URL.replace(".com/", ".com/./"),
    CERTIFICATE_URL.replace(".com/", ".com/%2e/"),
    CERTIFICATE_URL.replace("Simple", "%53imple"),
    CERTIFICATE_URL.replace("//", "//@"),
    CERTIFICATE_URL.replace("//", "//:@"),
    CERTIFICATE_URL.replace("//", "//user:password@"),
    CERTIFICATE_URL.replace("//", "\\\\"),
    CERTIFICATE_URL.replace("//", "///"),
    CERTIFICATE_URL.replace("0123", "٠١٢٣"),
    CERTIFICATE_URL.replace("abcdef", "ABCDEF"),
]


@pytest.fixture(scope="module")
def keys() -> Keys:
    return make_keys()


def certified(
    keys: Keys,
    *,
    common: Sequence[str] = ("sns.amazonaws.com",),
    listed: Sequence[str] = (),
    begins: datetime = NOW - DAY,
    ends: datetime = NOW + DAY,
) -> Keys:
    """The same key with another certificate."""
    private = load_pem_private_key(keys.signer.encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text) for text in common])
    builder = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )
    if listed:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(text) for text in listed]), False)
    pem = builder.sign(private, SHA256()).public_bytes(Encoding.PEM).decode()
    key = keys.signer[: keys.signer.index("-----BEGIN CERTIFICATE")]
    return Keys(secret=keys.secret, signer=key + pem)


def request_of(url: object, topic: str = TOPIC) -> Request:
    body = json.dumps({"TopicArn": topic, "SigningCertURL": url}).encode()
    return Request(source_name="main", method="POST", headers={}, body=body, received_at=NOW)


@pytest.mark.parametrize("url", SPELLINGS, ids=ascii)
def test_one_certificate_has_one_spelling(keys: Keys, url: str) -> None:
    endpoint = Endpoint("ses", keys=keys)

    assert post(endpoint, sealed(keys, NOTIFICATION, SigningCertURL=url)) == 401
    assert endpoint.fetcher.certificates == []


@pytest.mark.parametrize("url", [url.replace(f"/{NAME}", "/?Action=ConfirmSubscription") for url in SPELLINGS[:4]])
def test_the_link_that_confirms_is_pinned_as_strictly(keys: Keys, url: str) -> None:
    endpoint = Endpoint("ses", keys=keys)
    tricks = [
        f"{HOST}/?Action=ConfirmSubscription#",
        f"{HOST}/?Action=ConfirmSubscription\t",
        f"{HOST}/\n?Action=ConfirmSubscription",
        f"{HOST.replace('https', 'HTTPS')}/?Action=ConfirmSubscription",
    ]

    for trick in tricks:
        assert post(endpoint, sealed(keys, CONFIRMATION, SubscribeURL=trick)) == 401
    assert endpoint.fetcher.confirmed == []


@pytest.mark.parametrize(("topic", "host"), REGIONS.items())
def test_the_address_is_built_of_the_topics_own_region(topic: str, host: str) -> None:
    url = f"https://{host}/{NAME}"

    assert certificate_url(request_of(url, topic), [topic]) == url
    for other in {*REGIONS.values()} - {host}:
        with pytest.raises(VerificationError):
            certificate_url(request_of(f"https://{other}/{NAME}", topic), [topic])


def test_spellings_do_not_push_a_certificate_out_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def get(self: Fetcher, url: str) -> str:
        fetched.append(url)
        return "-----BEGIN CERTIFICATE-----"

    monkeypatch.setattr(fetch.Fetcher, "get", get)
    fetcher = Fetcher()

    for url in [CERTIFICATE_URL, *SPELLINGS, CERTIFICATE_URL]:
        try:
            fetcher.certificate(certificate_url(request_of(url), [TOPIC]))
        except VerificationError:
            continue

    assert fetched == [CERTIFICATE_URL]


@pytest.mark.parametrize(
    ("begins", "ends", "status"),
    [
        (NOW - DAY, NOW + DAY, 200),
        (NOW, NOW + DAY, 200),
        (NOW - DAY, NOW, 200),
        (NOW - 800 * DAY, NOW - 400 * DAY, 401),
        (NOW - DAY, NOW - timedelta(seconds=1), 401),
        (NOW + timedelta(seconds=1), NOW + DAY, 401),
        (datetime(1999, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC), 401),
    ],
)
def test_a_certificate_holds_between_its_dates(keys: Keys, begins: datetime, ends: datetime, status: int) -> None:
    has_own_time = certified(keys, begins=begins, ends=ends)

    assert post(Endpoint("ses", keys=has_own_time), sealed(has_own_time, NOTIFICATION)) == status


@pytest.mark.parametrize(
    ("common", "listed", "status"),
    [
        (["sns.amazonaws.com"], [], 200),
        (["sns.eu-west-1.amazonaws.com"], [], 200),
        (["sns-signing.eu-west-1.amazonaws.com"], [], 200),
        ([], ["sns.amazonaws.com"], 200),
        ([], ["a.example", "sns.eu-west-1.amazonaws.com"], 200),
        (["sns-signing.eu-west-1.amazonaws.com"], ["sns.eu-west-1.amazonaws.com"], 200),
        (["evil.example"], [], 401),
        ([], [], 401),
        ([], ["evil.example"], 401),
        (["sns.us-east-1.amazonaws.com"], ["sns.us-east-1.amazonaws.com"], 401),
        (["sns.amazonaws.com.evil.example"], [], 401),
        (["evil-sns.amazonaws.com"], [], 401),
        (["*.amazonaws.com"], ["*.amazonaws.com"], 401),
        (["amazonaws.com"], [], 401),
        (["sns.eu-west-1.amazonaws.com.cn"], [], 401),
        (["CN=sns.amazonaws.com"], [], 401),
        (["sns.amazonaws.com "], [], 401),
    ],
    ids=str,
)
def test_a_certificate_names_sns(keys: Keys, common: list[str], listed: list[str], status: int) -> None:
    named = certified(keys, common=common, listed=listed)

    assert post(Endpoint("ses", keys=named), sealed(named, NOTIFICATION)) == status


@pytest.mark.parametrize(
    ("topic", "name", "status"),
    [
        ("arn:aws-cn:sns:cn-north-1:210987654321:t", "sns-cn-north-1.amazonaws.com.cn", 200),
        ("arn:aws-cn:sns:cn-north-1:210987654321:t", "sns.cn-north-1.amazonaws.com.cn", 200),
        ("arn:aws-cn:sns:cn-north-1:210987654321:t", "sns-cn-northwest-1.amazonaws.com.cn", 401),
        ("arn:aws-us-gov:sns:us-gov-west-1:210987654321:t", "sns-us-gov-west-1.amazonaws.com", 200),
        ("arn:aws-us-gov:sns:us-gov-east-1:210987654321:t", "sns-us-gov-west-1.amazonaws.com", 200),
        ("arn:aws-us-gov:sns:us-gov-east-1:210987654321:t", "sns.us-gov-east-1.amazonaws.com", 200),
        ("arn:aws:sns:us-east-1:210987654321:t", "sns-us-gov-west-1.amazonaws.com", 401),
        ("arn:aws:sns:af-south-1:210987654321:t", "sns-signing.af-south-1.amazonaws.com", 200),
        ("arn:aws:sns:af-south-1:210987654321:t", "sns-signing.me-south-1.amazonaws.com", 401),
    ],
)
def test_each_partition_has_its_own_names(keys: Keys, topic: str, name: str, status: int) -> None:
    named = certified(keys, common=[name])
    host = certificate_host(topic)
    endpoint = Endpoint("ses", keys=named, secrets=[topic])

    message = sealed(named, NOTIFICATION, TopicArn=topic, SigningCertURL=f"https://{host}/{NAME}")

    assert post(endpoint, message) == status


def certificate_host(topic: str) -> str:
    partition, region = topic.split(":")[1], topic.split(":")[3]
    return f"sns.{region}.amazonaws.com{'.cn' if partition == 'aws-cn' else ''}"


@pytest.mark.parametrize("pem", ["", "x", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "\ud800"])
def test_what_is_no_certificate_proves_nothing(keys: Keys, pem: str) -> None:
    broken = Keys(secret=keys.secret, signer=keys.signer)
    endpoint = Endpoint("ses", keys=broken)
    endpoint.fetcher._certificate = pem

    assert post(endpoint, sealed(keys, NOTIFICATION)) == 401


def test_the_sample_url_is_its_own_only_spelling() -> None:
    assert urlsplit(CERTIFICATE_URL).geturl() == CERTIFICATE_URL
    assert certificate_url(request_of(CERTIFICATE_URL), [TOPIC]) == CERTIFICATE_URL
