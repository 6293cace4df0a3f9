"""The user's httpx client and what is around it: proxies, HTTP/2, hooks, transports. A create that
may have been sent is sent once, and one that was not is reported so."""

from __future__ import annotations

import gzip
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest
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


def outcome(service: Service, url: str | None = None, **http: Any) -> Any:
    return outcome_on("threads", create, http, environ=service.environ(BASE_URL=url or service.url))


def assert_unknown(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (OutcomeUnknown, True)
    assert len(service.requests) == 1


def assert_not_sent(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (Unreachable, False)
    assert (len(error.attempts), service.requests) == (4, [])


# -------------------------------------------------------------------- proxies and the environment


def refuse(proxy: Peer, client: socket.socket) -> None:
    proxy.read_request(client)
    client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")


def hang(proxy: Peer, client: socket.socket) -> None:
    proxy.read_request(client)
    client.recv(1)


@drivers
@pytest.mark.parametrize("conduct", [refuse, hang])
def test_a_proxy_that_makes_no_tunnel_has_sent_nothing(
    service: Service, start_peer: StartPeer, conduct: Any, driver: str
) -> None:
    proxy = start_peer(conduct)
    environ = service.environ(BASE_URL="https://service.test", ATTEMPT_TIMEOUT_MS="300")
    assert_not_sent(outcome_on(driver, create, {"proxy": proxy.url}, environ=environ), service)
    assert len(proxy.heads) == 4


@drivers
def test_a_proxy_in_the_environment_is_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    environ = proxy.environ(BASE_URL="http://service.test", ALLOW_INSECURE_HTTP="true")
    assert outcome_on(driver, create, environ=environ).docket_id == DOCKET_ID
    assert proxy.heads == ["POST http://service.test/api/v2/dockets HTTP/1.1"]


@pytest.mark.parametrize("account", [None, "alpha"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "127.9.8.7", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
def test_no_proxy_sees_the_token_for_a_service_on_loopback(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, host: str, account: str | None
) -> None:
    service, proxy = serve(), serve()
    monkeypatch.setenv("ALL_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    # The service listens at one of these addresses, the proxy would answer for all of them.
    url = service.url.replace("127.0.0.1", host)
    environ = service.environ(BASE_URL=url)
    if account is not None:
        own = {"ACCOUNTS": account, "ALPHA_BASE_URL": url, "ALPHA_API_TOKEN": TOKEN}
        environ = service.environ(BASE_URL="https://service.test", **own)
    ended = outcome_on(
        "threads", lambda it: create(it, account=account), environ=environ, max_attempts=1
    )
    if isinstance(ended, Unreachable):
        assert host not in ("127.0.0.1", "localhost", "LocalHost")
    else:
        assert ended.docket_id == DOCKET_ID
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTPS_PROXY", "ftp://me:password@proxy.test"),
        ("SSL_CERT_FILE", "/a/file/that/is/missing"),
    ],
)
def test_a_variable_that_httpx_cannot_use_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    _trust.cache_clear()
    monkeypatch.setenv(variable, value)
    error = outcome_on("threads", create, environ=service.environ())
    assert type(error) is ConfigurationProblem
    assert variable in str(error)
    assert "password" not in str(error)
    assert service.requests == []


# --------------------------------------------------------------------- the user's own http_client


def test_http_2_is_refused_for_threads_and_switched_on_for_coroutines(service: Service) -> None:
    http = {"http2": True}  # over TLS, if the service does
    refused = outcome_on("threads", create, http, environ=service.environ())
    assert isinstance(refused, ConfigurationProblem)
    assert "AsyncVoiceClient" in str(refused)
    created = outcome_on("asyncio", create, http, environ=service.environ())
    assert created.docket_id == DOCKET_ID


@drivers
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


@drivers
def test_headers_of_the_http_client_are_sent_unless_the_package_has_its_own(
    service: Service, driver: str
) -> None:
    headers = {"x-gateway": "key", "auth_token": "Bearer another", "content-type": "text/plain"}
    outcome_on(driver, create, {"headers": headers}, environ=service.environ())
    [request] = service.requests
    assert request.headers["x-gateway"] == "key"
    assert request.headers["auth_token"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"


def test_the_http_client_of_a_user_is_not_closed(service: Service) -> None:
    with httpx.Client() as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            create(client)
        assert not http_client.is_closed


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


@drivers
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


@drivers
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
