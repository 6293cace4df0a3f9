"""What users put around httpx, failing before, between and after a request is sent: a create that
may have been sent is sent once, and one that was not is reported so."""

from __future__ import annotations

import asyncio
import gzip
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import DOCKET, DOCKET_ID, Serve, Service

from voice_calling import (
    AsyncVoiceClient,
    CreatedDocket,
    OutcomeUnknown,
    RequestError,
    UnexpectedResponse,
    Unreachable,
    VoiceClient,
)

ERRORS = [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError]


def refused() -> str:
    """A URL at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


class FailsOver(httpx.BaseTransport):
    """Sends a request, loses the answer, and goes on to another that refuses."""

    def __init__(self, first: Callable[[httpx.Request], object]) -> None:
        self.first = first
        self.second = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.first(request)
        request.url = httpx.URL(refused() + request.url.path)
        return self.second.handle_request(request)


def by_httpx(request: httpx.Request) -> None:
    httpx.HTTPTransport().handle_request(request).close()


def by_a_copy(request: httpx.Request) -> None:
    httpx.post(request.url, headers=request.headers, content=request.read())


def by_another_library(request: httpx.Request) -> None:
    sent = urllib.request.Request(str(request.url), request.content, dict(request.headers))
    urllib.request.urlopen(sent).close()


def create(service: Service, http_client: httpx.Client, url: str | None = None) -> Any:
    environ = service.environ(BASE_URL=url or service.url)
    with http_client, VoiceClient(environ=environ, http_client=http_client) as client:
        try:
            return client.dockets.create(**DOCKET)
        except RequestError as error:
            return error


def create_async(service: Service, http_client: httpx.AsyncClient) -> Any:
    async def main() -> Any:
        async with http_client:
            environ = service.environ()
            async with AsyncVoiceClient(environ=environ, http_client=http_client) as client:
                try:
                    return await client.dockets.create(**DOCKET)
                except RequestError as error:
                    return error

    return asyncio.run(main())


def assert_unknown(outcome: Any, service: Service) -> None:
    assert (type(outcome), len(service.requests)) == (OutcomeUnknown, 1)
    assert outcome.may_have_created


def assert_not_sent(outcome: Any, service: Service) -> None:
    assert (type(outcome), len(service.requests)) == (Unreachable, 0)
    assert len(outcome.attempts) == 4
    assert not outcome.may_have_created


@pytest.mark.parametrize("error", ERRORS)
def test_a_hook_that_fails_to_connect_elsewhere_decides_by_when_it_runs(
    serve: Serve, error: type[httpx.TransportError]
) -> None:
    def fail(_: Any) -> None:
        raise error("elsewhere")

    async def fail_async(_: Any) -> None:
        fail(_)

    for kind, check in [("request", assert_not_sent), ("response", assert_unknown)]:
        service = serve()
        check(create(service, httpx.Client(event_hooks={kind: [fail]})), service)
        service = serve()
        hooks: Any = {kind: [fail_async]}
        check(create_async(service, httpx.AsyncClient(event_hooks=hooks)), service)


@pytest.mark.parametrize("first", [by_httpx, by_a_copy, by_another_library])
def test_a_transport_that_fails_over_to_one_that_refuses_has_sent_the_create(
    service: Service, first: Callable[[httpx.Request], object]
) -> None:
    outcome = create(service, httpx.Client(transport=FailsOver(first)))
    assert_unknown(outcome, service)


@pytest.mark.parametrize("error", ERRORS)
def test_a_transport_that_takes_the_body_may_have_sent_it_whatever_it_raises(
    service: Service, error: type[httpx.TransportError]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        by_another_library(request)
        raise error("no connection")

    assert_unknown(create(service, httpx.Client(transport=httpx.MockTransport(fail))), service)


def test_a_transport_around_that_of_httpx_changes_nothing(service: Service) -> None:
    class Around(httpx.BaseTransport):
        inner = httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return self.inner.handle_request(request)

    outcome = create(service, httpx.Client(transport=Around()), refused())
    assert_not_sent(outcome, service)


def test_a_hook_may_read_the_body_and_replace_the_trace(service: Service) -> None:
    seen: list[str] = []

    def look(request: httpx.Request) -> None:
        seen.append(request.content.decode() + request.read().decode())
        request.extensions["trace"] = lambda name, info: seen.append(name)

    def fail(_: Any) -> None:
        raise httpx.ConnectError("elsewhere")

    hooks: dict[str, list[Any]] = {"request": [look], "response": [fail]}
    assert_not_sent(create(service, httpx.Client(event_hooks=hooks), refused()), service)
    assert_unknown(create(service, httpx.Client(event_hooks=hooks)), service)
    assert any(name.endswith("send_request_headers.started") for name in seen)


def test_a_proxy_that_hangs_before_the_tunnel_has_sent_nothing(service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        environ = service.environ(
            BASE_URL="https://service.test", ATTEMPT_TIMEOUT_MS="300", MAX_ATTEMPTS="2"
        )
        with httpx.Client(proxy=url) as http_client:
            with VoiceClient(environ=environ, http_client=http_client) as client:
                with pytest.raises(Unreachable) as raised:
                    client.dockets.create(**DOCKET)
    assert not raised.value.may_have_created
    assert len(raised.value.attempts) == 2


# --------------------------------------------------------------------------- content encodings


BODY = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}'.encode()


class Encoded(httpx.BaseTransport):
    """Answers with these bytes, a few at a time."""

    def __init__(self, encoding: str, content: bytes) -> None:
        self.encoding = encoding
        self.content = content
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request.headers["accept-encoding"])
        pieces = [self.content[at : at + 64] for at in range(0, len(self.content), 64)]
        headers = {"content-encoding": self.encoding}
        return httpx.Response(200, headers=headers, stream=Pieces(pieces))


class Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def __iter__(self) -> Any:
        return iter(self.pieces)


def test_an_answer_may_be_compressed_once(service: Service) -> None:
    transport = Encoded("gzip", gzip.compress(BODY))
    outcome = create(service, httpx.Client(transport=transport))
    assert isinstance(outcome, CreatedDocket)
    assert outcome.raw_json == BODY.decode()
    assert transport.asked == ["gzip"]


def test_a_compressed_answer_that_ends_early_is_no_answer(service: Service) -> None:
    transport = Encoded("gzip", gzip.compress(BODY)[:-20])
    outcome = create(service, httpx.Client(transport=transport))
    assert isinstance(outcome, UnexpectedResponse)
    assert outcome.may_have_created


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "deflate", "br"])
def test_a_few_bytes_that_stand_for_gigabytes_are_not_decoded(
    service: Service, encoding: str
) -> None:
    import tracemalloc

    once = gzip.compress(b" " * (64 * 1024 * 1024))
    transport = Encoded(encoding, gzip.compress(once) if "," in encoding else once)
    tracemalloc.start()
    outcome = create(service, httpx.Client(transport=transport))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(outcome, UnexpectedResponse)
    assert outcome.may_have_created
    assert peak < 8 * 1024 * 1024
