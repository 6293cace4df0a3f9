"""What is httpx's own: proxies, authorities, certificates of clients, HTTP/2, its limits."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import trustme
from conftest import CREATED, DOCKET_ID, TOKEN, Answer, Serve, Service, create, outcome_on

from voice_calling import ConfigurationProblem, Unauthorized, Unreachable, VoiceClient

both = pytest.mark.parametrize("driver", ["threads", "asyncio"])


class Proxy:
    """A proxy that tunnels and forwards, and counts."""

    def __init__(self) -> None:
        self.refuses = False
        self.heads: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65536)
                if not piece:
                    return
                head += piece
            self.heads.append(head.split(b"\r\n")[0].decode())
            if self.refuses:
                client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            method, target, _ = self.heads[-1].split(" ")
            address = target if method == "CONNECT" else httpx.URL(target).netloc.decode()
            _, _, port = address.rpartition(":")
            # Every service of these tests is on this machine, whatever it is called.
            with socket.create_connection(("127.0.0.1", int(port))) as service:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    service.sendall(head)
                back = threading.Thread(target=self._pump, args=(service, client), daemon=True)
                back.start()
                self._pump(client, service)

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.close()


AUTHORITY = trustme.CA()


def secured(service: Service, *, asks: bool = False) -> str:
    """Lets a service speak TLS, with a certificate of the private authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        AUTHORITY.configure_trust(context)
    service.server.socket = context.wrap_socket(
        service.server.socket, server_side=True, do_handshake_on_connect=False
    )
    return service.url.replace("http:", "https:")


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


@both
def test_a_private_authority_is_trusted_by_the_context_of_the_http_client(
    service: Service, driver: str
) -> None:
    options: Any = {"environ": service.environ(BASE_URL=secured(service)), "max_attempts": 1}
    trusted = outcome_on(driver, create, {"verify": trusting()}, **options)
    assert trusted.docket_id == DOCKET_ID
    assert isinstance(outcome_on(driver, create, **options), Unreachable)
    assert len(service.requests) == 1


@both
def test_a_service_may_ask_for_a_certificate_of_the_client(service: Service, driver: str) -> None:
    environ = service.environ(BASE_URL=secured(service, asks=True))
    context = trusting()
    AUTHORITY.issue_cert("client.test").configure_cert(context)
    assert outcome_on(driver, create, {"verify": context}, environ=environ).docket_id == DOCKET_ID


@both
@pytest.mark.parametrize("is_secure", [False, True])
def test_requests_go_through_a_proxy(
    service: Service, proxy: Proxy, is_secure: bool, driver: str
) -> None:
    environ = service.environ(BASE_URL=secured(service) if is_secure else service.url)
    http = {"proxy": proxy.url, "verify": trusting()}
    assert outcome_on(driver, create, http, environ=environ).docket_id == DOCKET_ID
    [head] = proxy.heads
    assert head.startswith("CONNECT 127.0.0.1:" if is_secure else "POST http://127.0.0.1:")


@both
def test_a_proxy_that_refuses_the_tunnel_has_sent_nothing(
    service: Service, proxy: Proxy, driver: str
) -> None:
    proxy.refuses = True
    environ = service.environ(BASE_URL=secured(service))
    http = {"proxy": proxy.url, "verify": trusting()}
    error = outcome_on(driver, create, http, environ=environ, max_attempts=2)
    assert isinstance(error, Unreachable)
    assert (len(error.attempts), service.requests) == (2, [])


@both
def test_a_proxy_in_the_environment_is_used(
    service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    url = service.url.replace("127.0.0.1", "service.test")
    environ = service.environ(BASE_URL=url, ALLOW_INSECURE_HTTP="true")
    assert outcome_on(driver, create, environ=environ).docket_id == DOCKET_ID
    assert proxy.heads == [f"POST {url}/api/v2/dockets HTTP/1.1"]


@both
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("account", [None, "alpha"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "127.9.8.7", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
def test_no_proxy_sees_the_token_for_a_service_on_loopback(
    service: Service,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    account: str | None,
    variable: str,
    driver: str,
) -> None:
    monkeypatch.setenv(variable, proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    # The service listens at one of these addresses, the proxy would get there from all of them.
    url = service.url.replace("127.0.0.1", host)
    environ = service.environ(BASE_URL=url)
    if account is not None:
        own = {"ACCOUNTS": account, "ALPHA_BASE_URL": url, "ALPHA_API_TOKEN": TOKEN}
        environ = service.environ(BASE_URL="https://service.test", **own)
    outcome = outcome_on(
        driver, lambda it: create(it.with_options(account=account)), environ=environ, max_attempts=1
    )
    if isinstance(outcome, Unreachable):
        assert host not in ("127.0.0.1", "localhost", "LocalHost")
    else:
        assert outcome.docket_id == DOCKET_ID
    assert proxy.heads == []


@both
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://me:password@proxy.test", "ftp://"),
        ("http://proxy.test:port", "port"),
        ("socks5://proxy.test", "socksio"),
    ],
)
def test_a_proxy_variable_that_httpx_cannot_use_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch, url: str, shown: str, driver: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    error = outcome_on(driver, create, environ=service.environ())
    assert isinstance(error, ConfigurationProblem)
    assert error.problem is not None
    assert "HTTPS_PROXY" in error.problem.subject
    assert shown in error.problem.found
    assert "password" not in str(error)
    assert service.requests == []


def test_http_2_is_refused_for_threads_and_switched_on_for_coroutines(service: Service) -> None:
    http = {"http2": True}  # over TLS, if the service does
    with pytest.raises(ConfigurationProblem, match="AsyncVoiceClient"):
        outcome_on("threads", create, http, environ=service.environ())
    created = outcome_on("asyncio", create, http, environ=service.environ())
    assert created.docket_id == DOCKET_ID


@both
def test_authentication_and_redirects_of_the_http_client_repeat_nothing(
    serve: Serve, driver: str
) -> None:
    challenge = {"www-authenticate": 'Digest realm="r", nonce="n"', "location": "/elsewhere"}
    for status in [401, 307]:
        service = serve(Answer(status, "", challenge), CREATED)
        http = {"auth": httpx.DigestAuth("a", "b"), "follow_redirects": True}
        error = outcome_on(driver, create, http, environ=service.environ())
        assert isinstance(error, Unauthorized) == (status == 401)
        assert (error.response.status, len(service.requests)) == (status, 1)


@both
def test_headers_of_the_http_client_are_sent_unless_the_package_has_its_own(
    service: Service, driver: str
) -> None:
    headers = {"x-gateway": "key", "auth_token": "Bearer another", "content-type": "text/plain"}
    outcome_on(driver, create, {"headers": headers}, environ=service.environ())
    [request] = service.requests
    assert request.headers["x-gateway"] == "key"
    assert request.headers["auth_token"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"


def test_a_pool_that_is_full_has_sent_nothing(service: Service) -> None:
    service.gate.clear()
    limits = httpx.Limits(max_connections=1)
    options: Any = {"environ": service.environ(), "connect_timeout": 0.2, "max_attempts": 1}
    with httpx.Client(limits=limits) as http_client:
        with VoiceClient(http_client=http_client, **options) as client:
            first = threading.Thread(target=create, args=(client,))
            first.start()
            service.wait_for_request()
            with pytest.raises(Unreachable, match="PoolTimeout"):
                create(client)
            service.gate.set()
            first.join(20)
    assert len(service.requests) == 1


def test_the_http_client_of_a_user_is_not_closed_and_a_closed_one_has_sent_nothing(
    service: Service,
) -> None:
    with httpx.Client() as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            create(client)
        assert not http_client.is_closed
    with VoiceClient(environ=service.environ(), http_client=http_client) as client:
        with pytest.raises(Unreachable, match="closed"):
            create(client)
    assert len(service.requests) == 1
