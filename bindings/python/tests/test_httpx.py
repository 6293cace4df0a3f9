"""What is httpx's own: proxies, authorities, certificates of clients, HTTP/2, hooks, its limits."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import trustme
from conftest import CREATED, DOCKET, DOCKET_ID, TOKEN, Answer, Serve, Service

from voice_calling import (
    AsyncVoiceClient,
    ConfigurationProblem,
    OutcomeUnknown,
    Rejected,
    Unauthorized,
    Unreachable,
    VoiceClient,
)


class Proxy:
    """A proxy that tunnels and forwards, and counts."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
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


def test_a_private_authority_is_trusted_by_the_context_of_the_http_client(
    service: Service,
) -> None:
    url = secured(service)
    with httpx.Client(verify=trusting()) as http_client:
        with VoiceClient(environ=service.environ(BASE_URL=url), http_client=http_client) as client:
            assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID
    with VoiceClient(environ=service.environ(BASE_URL=url), max_attempts=1) as client:
        with pytest.raises(Unreachable):
            client.dockets.create(**DOCKET)
    assert len(service.requests) == 1


def test_a_service_may_ask_for_a_certificate_of_the_client(service: Service) -> None:
    url = secured(service, asks=True)
    context = trusting()
    AUTHORITY.issue_cert("client.test").configure_cert(context)
    with httpx.Client(verify=context) as http_client:
        with VoiceClient(environ=service.environ(BASE_URL=url), http_client=http_client) as client:
            assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID
    assert len(service.requests) == 1


@pytest.mark.parametrize("is_secure", [False, True])
def test_requests_go_through_a_proxy(service: Service, proxy: Proxy, is_secure: bool) -> None:
    url = secured(service) if is_secure else service.url
    with httpx.Client(proxy=proxy.url, verify=trusting()) as http_client:
        with VoiceClient(environ=service.environ(BASE_URL=url), http_client=http_client) as client:
            assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID
    [head] = proxy.heads
    assert head.startswith("CONNECT 127.0.0.1:" if is_secure else "POST http://127.0.0.1:")


def created(environ: dict[str, str], is_async: bool) -> str:
    """Creates a docket with a client that has no `http_client` of the user's."""

    async def main() -> str:
        async with AsyncVoiceClient(environ=environ, max_attempts=1) as client:
            return (await client.dockets.create(**DOCKET)).docket_id

    if is_async:
        return asyncio.run(main())
    with VoiceClient(environ=environ, max_attempts=1) as client:
        return client.dockets.create(**DOCKET).docket_id


@pytest.mark.parametrize("is_async", [False, True])
def test_a_proxy_in_the_environment_is_used(
    service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    url = service.url.replace("127.0.0.1", "service.test")
    environ = service.environ(BASE_URL=url, ALLOW_INSECURE_HTTP="true")
    assert created(environ, is_async) == DOCKET_ID
    assert proxy.heads == [f"POST {url}/api/v2/dockets HTTP/1.1"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LocalHost", "127.9.8.7", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
def test_no_proxy_sees_the_token_for_a_service_on_loopback(
    service: Service,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    variable: str,
    is_async: bool,
) -> None:
    monkeypatch.setenv(variable, proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    # The service listens at one of these addresses, the proxy would get there from all of them.
    environ = service.environ(BASE_URL=service.url.replace("127.0.0.1", host))
    try:
        assert created(environ, is_async) == DOCKET_ID
    except Unreachable:
        assert host not in ("127.0.0.1", "localhost", "LocalHost")
    assert proxy.heads == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_account_on_loopback_has_no_proxy_either(
    service: Service, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    environ = service.environ(
        BASE_URL="https://service.test", ALPHA_BASE_URL=service.url, ALPHA_API_TOKEN=TOKEN
    )
    environ["VOICE_CALLING_ACCOUNTS"] = "alpha"

    async def main() -> None:
        async with AsyncVoiceClient(environ=environ) as client:
            await client.dockets.create(**DOCKET, account="alpha")

    if is_async:
        asyncio.run(main())
    else:
        with VoiceClient(environ=environ) as client:
            client.dockets.create(**DOCKET, account="alpha")
    assert (len(service.requests), proxy.heads) == (1, [])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("proxy_url", "said"),
    [
        ("ftp://me:password@proxy.test", "ftp://"),
        ("http://proxy.test:port", "port"),
        ("socks5://proxy.test", "socksio"),
    ],
)
def test_a_proxy_variable_that_httpx_cannot_use_is_named(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    proxy_url: str,
    said: str,
    is_async: bool,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy_url)
    with pytest.raises(ConfigurationProblem) as raised:
        created(service.environ(), is_async)
    problem = raised.value.problem
    assert problem is not None
    assert "HTTPS_PROXY" in problem.subject
    assert said in problem.found
    assert "password" not in str(raised.value)
    assert service.requests == []


def test_coroutines_go_through_a_proxy_to_a_private_authority(
    service: Service, proxy: Proxy
) -> None:
    environ = service.environ(BASE_URL=secured(service))

    async def main() -> None:
        async with httpx.AsyncClient(proxy=proxy.url, verify=trusting()) as http_client:
            async with AsyncVoiceClient(environ=environ, http_client=http_client) as client:
                assert (await client.dockets.create(**DOCKET)).docket_id == DOCKET_ID

    asyncio.run(main())
    assert proxy.heads[0].startswith("CONNECT")


def test_a_proxy_that_refuses_the_tunnel_has_sent_nothing(service: Service) -> None:
    proxy = Proxy(refuses=True)
    environ = service.environ(BASE_URL=secured(service))
    with httpx.Client(proxy=proxy.url, verify=trusting()) as http_client:
        with VoiceClient(environ=environ, http_client=http_client, max_attempts=2) as client:
            with pytest.raises(Unreachable) as raised:
                client.dockets.create(**DOCKET)
    proxy.close()
    assert len(raised.value.attempts) == 2
    assert service.requests == []


def test_http_2_is_refused_for_threads_and_switched_on_for_coroutines(service: Service) -> None:
    with httpx.Client(http2=True) as http_client:
        with pytest.raises(ConfigurationProblem, match="AsyncVoiceClient"):
            VoiceClient(environ=service.environ(), http_client=http_client)

    async def main() -> None:
        async with httpx.AsyncClient(http2=True) as http_client:  # over TLS, if the service does
            environ = service.environ()
            async with AsyncVoiceClient(environ=environ, http_client=http_client) as client:
                assert (await client.dockets.create(**DOCKET)).docket_id == DOCKET_ID

    asyncio.run(main())


def test_redirects_and_repeating_authentication_of_the_http_client_are_not_used(
    serve: Serve,
) -> None:
    service = serve(Answer(307, "", {"location": "/elsewhere"}), CREATED)
    with httpx.Client(follow_redirects=True) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            with pytest.raises(Rejected) as rejected:
                client.dockets.create(**DOCKET)
    assert rejected.value.may_have_created
    service = serve(Answer(401, "", {"www-authenticate": 'Digest realm="r", nonce="n"'}), CREATED)
    with httpx.Client(auth=httpx.DigestAuth("a", "b")) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            with pytest.raises(Unauthorized):
                client.dockets.create(**DOCKET)
    assert len(service.requests) == 1


def test_headers_of_the_http_client_are_sent_and_ours_stand_over_them(service: Service) -> None:
    headers = {"x-gateway": "key", "auth_token": "Bearer another", "content-type": "text/plain"}
    with httpx.Client(headers=headers) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            client.dockets.create(**DOCKET)
    [request] = service.requests
    assert request.headers["x-gateway"] == "key"
    assert request.headers["auth_token"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"


def test_hooks_see_requests_and_one_that_fails_is_unknown(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def fail(response: httpx.Response) -> None:
        raise ValueError("a hook")

    hooks: dict[str, list[Any]] = {"request": [lambda it: seen.append(it.method)]}
    with httpx.Client(event_hooks=hooks) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            client.dockets.create(**DOCKET)
    assert seen == ["POST"]
    caplog.set_level(logging.DEBUG)
    with httpx.Client(event_hooks={"response": [fail]}) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            with pytest.raises(OutcomeUnknown, match="a hook"):
                client.dockets.create(**DOCKET)
    assert len(service.requests) == 2
    assert TOKEN not in caplog.text


def test_a_pool_that_is_full_has_sent_nothing(service: Service) -> None:
    service.gate.clear()
    limits = httpx.Limits(max_connections=1)
    with httpx.Client(limits=limits) as http_client:
        with VoiceClient(
            environ=service.environ(), http_client=http_client, connect_timeout=0.2, max_attempts=1
        ) as client:
            first = threading.Thread(target=client.dockets.create, kwargs=DOCKET)
            first.start()
            service.wait_for_request()
            with pytest.raises(Unreachable, match="PoolTimeout"):
                client.dockets.create(**DOCKET)
            service.gate.set()
            first.join(20)
    assert len(service.requests) == 1


def test_an_http_client_that_is_closed_has_sent_nothing(service: Service) -> None:
    http_client = httpx.Client()
    http_client.close()
    with VoiceClient(environ=service.environ(), http_client=http_client) as client:
        with pytest.raises(Unreachable, match="closed"):
            client.dockets.create(**DOCKET)


def test_the_http_client_of_a_user_is_never_closed(service: Service) -> None:
    with httpx.Client() as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            client.dockets.create(**DOCKET)
        assert not http_client.is_closed


def test_a_token_that_httpx_shows_in_an_error_is_not_told(service: Service) -> None:
    def show(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError(f"illegal header {request.headers['auth_token']!r}")

    with httpx.Client(transport=httpx.MockTransport(show)) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            with pytest.raises(OutcomeUnknown) as raised:
                client.dockets.create(**DOCKET)
    assert TOKEN not in repr(vars(raised.value)) + str(raised.value)


def test_callers_are_seen_by_what_traces_httpx(service: Service) -> None:
    import contextvars

    span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")
    seen: list[str] = []
    with httpx.Client(event_hooks={"request": [lambda _: seen.append(span.get())]}) as http_client:
        with VoiceClient(environ=service.environ(), http_client=http_client) as client:
            span.set("mine")
            client.dockets.create(**DOCKET)
    assert seen == ["mine"]
