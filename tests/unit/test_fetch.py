"""Fetching against a real TLS server on this machine: what is trusted, kept, cut off and refused."""

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from mailfold import fetch
from mailfold.errors import FetchFailed
from mailfold.fetch import CACHED_CERTIFICATES, LARGEST_BYTES, Fetcher

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


class Site(BaseHTTPRequestHandler):
    """Answers as the server's `answers` say, and counts what was asked for."""

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, SiteServer)
        server.asked.append(self.path)
        status, body = server.answers.get(self.path, (200, CERTIFICATE.encode()))
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Stay silent."""


class SiteServer(HTTPServer):
    """A site on a free port of the loopback address."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Site)
        self.asked: list[str] = []
        self.answers: dict[str, tuple[int, bytes]] = {}

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests are about."""


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and its key, in one file."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(private, SHA256())
    )
    path = tmp_path_factory.mktemp("site") / "identity.pem"
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + key)
    return path


@pytest.fixture
def site(identity: Path) -> Iterator[SiteServer]:
    """The site over TLS."""
    server = SiteServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def trusted(identity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the site's certificate one that this machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(identity))


def url(site: SiteServer, path: str = "/key.pem", *, scheme: str = "https") -> str:
    return f"{scheme}://127.0.0.1:{site.server_port}{path}"


@pytest.mark.usefixtures("trusted")
def test_a_certificate_is_fetched_once(site: SiteServer) -> None:
    fetcher = Fetcher()

    texts = {fetcher.certificate(url(site)) for _ in range(3)}

    assert texts == {CERTIFICATE}
    assert site.asked == ["/key.pem"]


@pytest.mark.usefixtures("trusted")
def test_the_query_is_part_of_what_is_asked_for(site: SiteServer) -> None:
    Fetcher().get(url(site, "/?Action=ConfirmSubscription&Token=1"))

    assert site.asked == ["/?Action=ConfirmSubscription&Token=1"]


@pytest.mark.usefixtures("trusted")
def test_only_certificates_are_kept(site: SiteServer) -> None:
    fetcher = Fetcher()

    fetcher.get(url(site))
    fetcher.get(url(site))

    assert len(site.asked) == 2


@pytest.mark.usefixtures("trusted")
def test_the_oldest_certificate_makes_room_for_a_new_one(site: SiteServer) -> None:
    fetcher = Fetcher()
    for number in range(CACHED_CERTIFICATES + 1):
        fetcher.certificate(url(site, f"/{number}.pem"))
    site.asked.clear()

    fetcher.certificate(url(site, f"/{CACHED_CERTIFICATES}.pem"))
    fetcher.certificate(url(site, "/1.pem"))
    fetcher.certificate(url(site, "/0.pem"))

    assert site.asked == ["/0.pem"]
    assert len(fetcher._certificates) == CACHED_CERTIFICATES


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    "failure",
    [(500, b""), (404, b""), (200, b"no certificate"), (302, b""), (204, b""), (200, b"x" * (LARGEST_BYTES + 1))],
    ids=["500", "404", "not a certificate", "redirect", "nothing", "too large"],
)
def test_a_failure_is_never_kept(site: SiteServer, failure: tuple[int, bytes]) -> None:
    fetcher = Fetcher()
    site.answers["/key.pem"] = failure
    with pytest.raises(FetchFailed):
        fetcher.certificate(url(site))
    del site.answers["/key.pem"]

    assert fetcher.certificate(url(site)) == CERTIFICATE


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(site: SiteServer, status: int) -> None:
    site.answers["/key.pem"] = (status, CERTIFICATE.encode())

    with pytest.raises(FetchFailed, match=str(status)):
        Fetcher().get(url(site))

    assert site.asked == ["/key.pem"]


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("size", "taken"), [(LARGEST_BYTES, True), (LARGEST_BYTES + 1, False)])
def test_a_document_has_a_largest_size(site: SiteServer, size: int, taken: bool) -> None:
    site.answers["/"] = (200, b"x" * size)

    if taken:
        assert len(Fetcher().get(url(site, "/"))) == size
    else:
        with pytest.raises(FetchFailed):
            Fetcher().get(url(site, "/"))


def test_a_host_that_cannot_prove_who_it_is_is_refused(site: SiteServer) -> None:
    with pytest.raises(FetchFailed, match="SSLCertVerificationError"):
        Fetcher().get(url(site))

    assert site.asked == []


@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_another_name_is_refused(site: SiteServer) -> None:
    with pytest.raises(FetchFailed, match="SSLCertVerificationError"):
        Fetcher().get(f"https://localhost:{site.server_port}/key.pem")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["http", "ftp", "file", ""])
def test_nothing_but_https_is_spoken(site: SiteServer, scheme: str) -> None:
    with pytest.raises(FetchFailed):
        Fetcher().get(url(site, scheme=scheme))

    assert site.asked == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("tail", ["/a b", "/a\r\nHost: x", "/é", "/\x00"], ids=ascii)
def test_a_link_that_is_none_is_a_failure_like_any_other(site: SiteServer, tail: str) -> None:
    with pytest.raises(FetchFailed):
        Fetcher().get(url(site) + tail)

    assert site.asked == []


@pytest.mark.parametrize("link", ["https://127.0.0.1:port/", "https://[::1", "https://", "", "https:///x"])
def test_an_address_that_is_none_is_a_failure_like_any_other(link: str) -> None:
    with pytest.raises(FetchFailed):
        Fetcher().get(link)


def test_a_host_that_is_not_there_is_a_failure() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))

        with pytest.raises(FetchFailed, match="ConnectionRefusedError"):
            Fetcher().get(f"https://127.0.0.1:{reserved.getsockname()[1]}/")


def test_a_host_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(FetchFailed, match="TimeoutError"):
        Fetcher().get(f"https://127.0.0.1:{silent.getsockname()[1]}/")
