"""The user's httpx client and what is around it: proxies, authorities, HTTP/2, hooks, transports. A
create that may have been sent is sent once, and one that was not is reported so."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import trustme
from conftest import (
    DOCKET_ID,
    TOKEN,
    Peer,
    Serve,
    Service,
    StartPeer,
    create,
    drivers,
    outcome_on,
)
from httpcore._backends.anyio import AnyIOStream
from httpcore._backends.sync import SyncStream

from voice_calling import (
    ConfigurationProblem,
    OutcomeUnknown,
    Unauthorized,
    UnexpectedResponse,
    Unreachable,
    VoiceClient,
)
from voice_calling._http import _trust
from voice_calling.testing import CREATED, Answer

both = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def outcome(service: Service, url: str | None = None, **http: Any) -> Any:
    return outcome_on("threads", create, http, environ=service.environ(BASE_URL=url or service.url))


def assert_unknown(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (OutcomeUnknown, True)
    assert len(service.requests) == 1


def assert_not_sent(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (Unreachable, False)
    assert (len(error.attempts), service.requests) == (4, [])


# ----------------------------------------------------------------------- proxies and authorities


def tunnel(proxy: Peer, client: socket.socket) -> None:
    proxy.read_request(client)
    _, target, _ = proxy.heads[-1].split(" ")
    host, _, port = target.rpartition(":")
    with socket.create_connection((host, int(port))) as service:
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=pump, args=(service, client), daemon=True).start()
        pump(client, service)


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def refuse(proxy: Peer, client: socket.socket) -> None:
    proxy.read_request(client)
    client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")


def hang(proxy: Peer, client: socket.socket) -> None:
    proxy.read_request(client)
    client.recv(1)


AUTHORITY = trustme.CA()


def secured(service: Service) -> str:
    """Lets a service speak TLS, with a certificate of the private authority, and ask for one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    context.verify_mode = ssl.CERT_REQUIRED
    AUTHORITY.configure_trust(context)
    service.context = context
    return service.url.replace("http:", "https:")


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    AUTHORITY.issue_cert("client.test").configure_cert(context)
    return context


@both
def test_requests_go_through_a_tunnel_with_the_certificates_of_the_http_client(
    service: Service, start_peer: StartPeer, driver: str
) -> None:
    proxy = start_peer(tunnel)
    environ = service.environ(BASE_URL=secured(service))
    http = {"proxy": proxy.url, "verify": trusting()}
    assert outcome_on(driver, create, http, environ=environ).docket_id == DOCKET_ID
    [head] = proxy.heads
    assert head.startswith("CONNECT 127.0.0.1:")


@both
@pytest.mark.parametrize("conduct", [refuse, hang])
def test_a_proxy_that_makes_no_tunnel_has_sent_nothing(
    service: Service, start_peer: StartPeer, conduct: Any, driver: str
) -> None:
    proxy = start_peer(conduct)
    environ = service.environ(BASE_URL="https://service.test", ATTEMPT_TIMEOUT_MS="300")
    assert_not_sent(outcome_on(driver, create, {"proxy": proxy.url}, environ=environ), service)
    assert len(proxy.heads) == 4


@both
def test_a_proxy_in_the_environment_is_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    environ = proxy.environ(BASE_URL="http://service.test", ALLOW_INSECURE_HTTP="true")
    assert outcome_on(driver, create, environ=environ).docket_id == DOCKET_ID
    assert proxy.heads == ["POST http://service.test/api/v2/dockets HTTP/1.1"]


@both
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("account", [None, "alpha"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "127.9.8.7", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
def test_no_proxy_sees_the_token_for_a_service_on_loopback(
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    account: str | None,
    variable: str,
    driver: str,
) -> None:
    service, proxy = serve(), serve()
    monkeypatch.setenv(variable, proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    # The service listens at one of these addresses, the proxy would answer for all of them.
    url = service.url.replace("127.0.0.1", host)
    environ = service.environ(BASE_URL=url)
    if account is not None:
        own = {"ACCOUNTS": account, "ALPHA_BASE_URL": url, "ALPHA_API_TOKEN": TOKEN}
        environ = service.environ(BASE_URL="https://service.test", **own)
    ended = outcome_on(
        driver, lambda it: create(it.with_options(account=account)), environ=environ, max_attempts=1
    )
    if isinstance(ended, Unreachable):
        assert host not in ("127.0.0.1", "localhost", "LocalHost")
    else:
        assert ended.docket_id == DOCKET_ID
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://me:password@proxy.test", "ftp://"),
        ("http://proxy.test:port", "port"),
        ("socks5://proxy.test", "socksio"),
    ],
)
def test_a_proxy_variable_that_httpx_cannot_use_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch, url: str, shown: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    error = outcome_on("threads", create, environ=service.environ())
    assert isinstance(error, ConfigurationProblem)
    assert error.problem is not None
    assert "HTTPS_PROXY" in error.problem.subject
    assert shown in error.problem.found
    assert "password" not in str(error)
    assert service.requests == []


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSLKEYLOGFILE"])
def test_a_variable_of_tls_that_cannot_be_used_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    _trust.cache_clear()
    monkeypatch.setenv(variable, "/a/file/that/is/missing")
    error = outcome_on("threads", create, environ=service.environ())
    assert type(error) is ConfigurationProblem
    assert variable in str(error)
    assert service.requests == []


# --------------------------------------------------------------------- the user's own http_client


def test_http_2_is_refused_for_threads_and_switched_on_for_coroutines(service: Service) -> None:
    http = {"http2": True}  # over TLS, if the service does
    refused = outcome_on("threads", create, http, environ=service.environ())
    assert isinstance(refused, ConfigurationProblem)
    assert "AsyncVoiceClient" in str(refused)
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


# -------------------------------------------------------------------------- hooks and transports


def refused() -> str:
    """Returns a URL at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def by_httpx(request: httpx.Request) -> None:
    httpx.HTTPTransport().handle_request(request).close()


def by_a_copy(request: httpx.Request) -> None:
    httpx.post(request.url, headers=request.headers, content=request.read())


def by_another_library(request: httpx.Request) -> None:
    sent = urllib.request.Request(str(request.url), request.content, dict(request.headers))
    urllib.request.urlopen(sent).close()


def not_at_all(request: httpx.Request) -> None:
    pass


@pytest.mark.parametrize("send", [by_httpx, by_a_copy, by_another_library, not_at_all])
def test_a_transport_that_goes_on_to_one_that_refuses_may_have_sent_the_create_before(
    service: Service, send: Callable[[httpx.Request], object]
) -> None:
    class GoesOn(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            send(request)
            request.url = httpx.URL(refused() + request.url.path)
            return httpx.HTTPTransport().handle_request(request)

    check = assert_not_sent if send is not_at_all else assert_unknown
    check(outcome(service, transport=GoesOn()), service)


@both
def test_a_transport_that_retries_sends_no_create_again(serve: Serve, driver: str) -> None:
    class Retries(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            super().handle_request(request).close()
            return super().handle_request(request)

    class AsyncRetries(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await (await super().handle_async_request(request)).aclose()
            return await super().handle_async_request(request)

    service = serve(Answer(503), CREATED)
    http = {"transport": Retries() if driver == "threads" else AsyncRetries()}
    assert_unknown(outcome_on(driver, create, http, environ=service.environ()), service)


@pytest.mark.parametrize(
    ("status", "part", "shown"),
    [(70_000, b"{}", "unexpected status 0"), (200, "{}", "ended early: TypeError")],
)
def test_an_answer_that_cannot_be_one_ends_its_call_alone(
    service: Service, status: int, part: Any, shown: str
) -> None:
    respond = httpx.MockTransport(lambda _: httpx.Response(status, content=iter([part])))
    error = outcome(service, transport=respond)
    assert type(error) is UnexpectedResponse  # not what ends all that goes on
    assert shown in str(error)


def test_a_hook_may_read_the_body_and_replace_the_trace(service: Service) -> None:
    seen: list[str] = []

    def look(request: httpx.Request) -> None:
        seen.append(request.content.decode() + request.read().decode())
        request.extensions["trace"] = lambda name, info: seen.append(name)

    def fail(_: Any) -> None:
        raise httpx.ConnectError("elsewhere")

    hooks: dict[str, list[Any]] = {"request": [look], "response": [fail]}
    assert_not_sent(outcome(service, refused(), event_hooks=hooks), service)
    assert_unknown(outcome(service, event_hooks=hooks), service)
    assert any(name.endswith("send_request_headers.started") for name in seen)


@both
def test_an_answer_is_not_asked_for_in_an_encoding_and_not_decoded(
    serve: Serve, driver: str
) -> None:
    service = serve(
        Answer(body=gzip.compress(CREATED._content()), headers={"content-encoding": "gzip"})
    )
    error = outcome_on(driver, create, environ=service.environ())
    assert (type(error), error.may_have_created) == (UnexpectedResponse, True)
    assert "content-encoding gzip" in str(error)
    assert service.requests[0].headers["accept-encoding"] == "identity"


@drivers
def test_the_head_and_the_body_of_a_request_are_sent_together(
    monkeypatch: pytest.MonkeyPatch, service: Service, driver: str
) -> None:
    sent: list[bytes] = []

    def observe(stream: Any) -> None:
        write = stream.write

        def observed(self: Any, buffer: bytes, timeout: float | None = None) -> Any:
            sent.append(buffer)
            return write(self, buffer, timeout)

        monkeypatch.setattr(stream, "write", observed)

    observe(SyncStream)
    observe(AnyIOStream)
    assert outcome_on(driver, create, environ=service.environ()).docket_id == DOCKET_ID
    (request,) = [it for it in sent if it]
    assert request.endswith(service.requests[0].body.encode())
