"""What users put around httpx, failing before, between and after a request is sent: a create that
may have been sent is sent once, and one that was not is reported so."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from conftest import DOCKET_ID, TOKEN, Serve, Service, create, outcome_on

from voice_calling import CreatedDocket, OutcomeUnknown, UnexpectedResponse, Unreachable

ERRORS = [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError]


def refused() -> str:
    """Returns a URL at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def outcome(service: Service, url: str | None = None, **http: Any) -> Any:
    return outcome_on("threads", create, http, environ=service.environ(BASE_URL=url or service.url))


def assert_unknown(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (OutcomeUnknown, True)
    assert len(service.requests) == 1


def assert_not_sent(error: Any, service: Service) -> None:
    assert (type(error), error.may_have_created) == (Unreachable, False)
    assert (len(error.attempts), service.requests) == (4, [])


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_a_hook_that_fails_to_connect_elsewhere_decides_by_when_it_runs(
    serve: Serve, error: type[httpx.TransportError], driver: str
) -> None:
    def fail(_: Any) -> None:
        raise error("elsewhere")

    async def fail_async(_: Any) -> None:
        fail(_)

    hook = fail if driver == "threads" else fail_async
    for kind, check in [("request", assert_not_sent), ("response", assert_unknown)]:
        service = serve()
        http = {"event_hooks": {kind: [hook]}}
        check(outcome_on(driver, create, http, environ=service.environ()), service)


def by_httpx(request: httpx.Request) -> None:
    httpx.HTTPTransport().handle_request(request).close()


def by_a_copy(request: httpx.Request) -> None:
    httpx.post(request.url, headers=request.headers, content=request.read())


def by_another_library(request: httpx.Request) -> None:
    sent = urllib.request.Request(str(request.url), request.content, dict(request.headers))
    urllib.request.urlopen(sent).close()


@pytest.mark.parametrize("send", [by_httpx, by_a_copy, by_another_library])
def test_a_transport_that_fails_over_to_one_that_refuses_has_sent_the_create(
    service: Service, send: Callable[[httpx.Request], object]
) -> None:
    class FailsOver(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            send(request)
            request.url = httpx.URL(refused() + request.url.path)
            return httpx.HTTPTransport().handle_request(request)

    assert_unknown(outcome(service, transport=FailsOver()), service)


@pytest.mark.parametrize("error", ERRORS)
def test_a_transport_that_takes_the_body_may_have_sent_it_whatever_it_raises(
    service: Service, error: type[httpx.TransportError]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        by_another_library(request)
        raise error(f"illegal header {request.headers['auth_token']!r}")

    unknown = outcome(service, transport=httpx.MockTransport(fail))
    assert_unknown(unknown, service)
    assert TOKEN not in repr(vars(unknown)) + str(unknown)


def test_a_transport_around_that_of_httpx_changes_nothing(service: Service) -> None:
    class Around(httpx.BaseTransport):
        inner = httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return self.inner.handle_request(request)

    assert_not_sent(outcome(service, refused(), transport=Around()), service)


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


def test_a_proxy_that_hangs_before_the_tunnel_has_sent_nothing(service: Service) -> None:
    settings = {"ATTEMPT_TIMEOUT_MS": "300", "BASE_URL": "https://service.test"}
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        http = {"proxy": f"http://127.0.0.1:{proxy.getsockname()[1]}"}
        error = outcome_on("threads", create, http, environ=service.environ(**settings))
    assert_not_sent(error, service)


# --------------------------------------------------------------------------- content encodings

BODY = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}'.encode()


class Encoded(httpx.BaseTransport, httpx.SyncByteStream):
    """Answers with these bytes, a few at a time."""

    def __init__(self, encoding: str, content: bytes) -> None:
        self.encoding = encoding
        self.content = content
        self.accepted: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.accepted.append(request.headers["accept-encoding"])
        return httpx.Response(200, headers={"content-encoding": self.encoding}, stream=self)

    def __iter__(self) -> Iterator[bytes]:
        return (self.content[at : at + 64] for at in range(0, len(self.content), 64))


def test_an_answer_may_be_compressed_once(service: Service) -> None:
    transport = Encoded("gzip", gzip.compress(BODY))
    created = outcome(service, transport=transport)
    assert isinstance(created, CreatedDocket)
    assert created.raw_json == BODY.decode()
    assert transport.accepted == ["gzip"]


def test_a_compressed_answer_that_ends_early_is_no_answer(service: Service) -> None:
    error = outcome(service, transport=Encoded("gzip", gzip.compress(BODY)[:-20]))
    assert (type(error), error.may_have_created) == (UnexpectedResponse, True)


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate", "br"])
def test_a_few_bytes_that_stand_for_gigabytes_are_not_decoded(
    service: Service, encoding: str
) -> None:
    once = gzip.compress(b" " * (64 * 1024 * 1024))
    transport = Encoded(encoding, gzip.compress(once) if "," in encoding else once)
    tracemalloc.start()
    error = outcome(service, transport=transport)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (type(error), error.may_have_created) == (UnexpectedResponse, True)
    assert peak < 8 * 1024 * 1024
