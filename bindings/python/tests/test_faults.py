"""Faults of the network on real sockets: what a create ends in, and that it was sent once at
most."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from conftest import DOCKET, DOCKET_ID, TOKEN

from voice_calling import (
    AsyncVoiceClient,
    CreatedDocket,
    OutcomeUnknown,
    RequestError,
    UnexpectedResponse,
    Unreachable,
    VoiceClient,
)

BODY = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}'.encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
WHOLE = HEAD % len(BODY) + BODY


class Peer:
    """A service of one behaviour, which counts the requests that reach it."""

    def __init__(self, serve: Callable[[Peer, socket.socket], None]) -> None:
        self.posts = 0
        self.connections = 0
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._serve(self, connection)
            except OSError:
                return

    def hear(self, connection: socket.socket) -> bool:
        """Reads a request to its end."""
        heard = b""
        while b"\r\n\r\n" not in heard:
            piece = connection.recv(65536)
            if not piece:
                return False
            heard += piece
        self.posts += heard.startswith(b"POST")
        head, _, body = heard.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
        while len(body) < length:
            body += connection.recv(65536)
        return True

    def close(self) -> None:
        self._socket.close()


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def resets_before(peer: Peer, connection: socket.socket) -> None:
    reset(connection)


def resets_after(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    reset(connection)


def closes_after(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)


def half_a_head(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(WHOLE[:30])


def half_a_body(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(WHOLE[:-20])


def silence(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.recv(1)


def silence_after_half_a_body(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(WHOLE[:-20])
    connection.recv(1)


def drips_the_head(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-padding: ")
    for _ in range(400):
        connection.sendall(b"x")
        time.sleep(0.05)


def drips_the_body(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(HEAD % 10_000 + b'{"docket_id":"')
    for _ in range(400):
        connection.sendall(b"x")
        time.sleep(0.05)


def closes_when_idle(peer: Peer, connection: socket.socket) -> None:
    """Closes each connection after its first answer, at the moment when the next request comes."""
    peer.hear(connection)
    connection.sendall(WHOLE)
    connection.recv(1, socket.MSG_PEEK)
    reset(connection)


def closes_at_once_after_an_answer(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(WHOLE)


def says_too_much(peer: Peer, connection: socket.socket) -> None:
    peer.hear(connection)
    connection.sendall(HEAD % 2**30)
    for _ in range(2**14):
        connection.sendall(b" " * 65536)


def hangs_in_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.recv(65536)


def fails_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


Play = Callable[..., "CreatedDocket | RequestError"]


def in_a_thread(creates: int, **options: Any) -> Any:
    outcome: CreatedDocket | RequestError | None = None
    with VoiceClient(environ={}, token=TOKEN, **options) as client:
        for _ in range(creates):
            try:
                outcome = client.dockets.create(**DOCKET)
            except RequestError as error:
                outcome = error
    return outcome


async def _in_a_coroutine(creates: int, **options: Any) -> Any:
    outcome: CreatedDocket | RequestError | None = None
    async with AsyncVoiceClient(environ={}, token=TOKEN, **options) as client:
        for _ in range(creates):
            try:
                outcome = await client.dockets.create(**DOCKET)
            except RequestError as error:
                outcome = error
    return outcome


def on_asyncio(creates: int, **options: Any) -> Any:
    return asyncio.run(_in_a_coroutine(creates, **options))


def on_trio(creates: int, **options: Any) -> Any:
    import trio

    return trio.run(lambda: _in_a_coroutine(creates, **options))


# On trio, httpx leaves generators of its own behind when an exchange breaks.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

drivers = pytest.mark.parametrize("play", [in_a_thread, on_asyncio, on_trio])

FAST: dict[str, Any] = {"backoff": 0.001, "max_backoff": 0.001, "attempt_timeout": 0.5}


@pytest.fixture
def peer() -> Iterator[Callable[..., Peer]]:
    peers: list[Peer] = []

    def start(serve: Callable[[Peer, socket.socket], None]) -> Peer:
        peers.append(Peer(serve))
        return peers[-1]

    yield start
    for each in peers:
        each.close()


@drivers
@pytest.mark.parametrize(
    ("fault", "expected", "posts"),
    [
        (resets_after, OutcomeUnknown, 1),
        (closes_after, OutcomeUnknown, 1),
        (half_a_head, OutcomeUnknown, 1),
        (half_a_body, UnexpectedResponse, 1),
        (silence, OutcomeUnknown, 1),
        (silence_after_half_a_body, UnexpectedResponse, 1),
        (drips_the_head, OutcomeUnknown, 1),
        (drips_the_body, UnexpectedResponse, 1),
        (says_too_much, UnexpectedResponse, 1),
    ],
)
def test_a_create_whose_answer_is_lost_was_sent_once_and_may_exist(
    peer: Callable[..., Peer], play: Play, fault: Any, expected: type[RequestError], posts: int
) -> None:
    service = peer(fault)
    began = time.monotonic()
    outcome = play(1, base_url=service.url, **FAST)
    assert time.monotonic() - began < 5
    assert type(outcome) is expected
    assert isinstance(outcome, RequestError)
    assert outcome.may_have_created
    assert len(outcome.attempts) == 1
    assert service.posts == posts
    if expected is UnexpectedResponse:
        assert outcome.response is not None
        assert outcome.response.status == 200
        assert outcome.response.body_cut
    if "half_a_body" in fault.__name__:
        assert DOCKET_ID in outcome.response.body  # type: ignore[union-attr] # pyright: ignore


@drivers
def test_a_connection_that_is_reset_before_the_request_sends_no_post_twice(
    peer: Callable[..., Peer], play: Play
) -> None:
    service = peer(resets_before)
    outcome = play(1, base_url=service.url, **FAST)
    assert isinstance(outcome, (OutcomeUnknown, Unreachable))
    assert service.posts == 0
    assert service.connections == len(outcome.attempts)


@drivers
def test_a_port_that_refuses_is_tried_again_and_nothing_is_created(play: Play) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    outcome = play(1, base_url=url, **FAST)
    assert type(outcome) is Unreachable
    assert (len(outcome.attempts), outcome.may_have_created) == (4, False)


@drivers
@pytest.mark.parametrize("fault", [hangs_in_the_handshake, fails_the_handshake])
def test_a_tls_handshake_that_hangs_or_fails_has_sent_nothing(
    peer: Callable[..., Peer], play: Play, fault: Any
) -> None:
    service = peer(fault)
    url = service.url.replace("http:", "https:")
    outcome = play(1, base_url=url, max_attempts=2, connect_timeout=0.3, **FAST)
    assert type(outcome) is Unreachable
    assert (len(outcome.attempts), outcome.may_have_created) == (2, False)
    assert service.connections == 2


@drivers
def test_an_idle_connection_that_is_closed_under_a_create_sends_no_post_twice(
    peer: Callable[..., Peer], play: Play
) -> None:
    service = peer(closes_when_idle)
    outcome = play(2, base_url=service.url, **FAST)
    assert type(outcome) is OutcomeUnknown
    assert service.posts == 1  # the second was never read


@drivers
def test_a_connection_that_was_closed_while_idle_is_not_used(
    peer: Callable[..., Peer], play: Play
) -> None:
    service = peer(closes_at_once_after_an_answer)
    outcomes = [play(1, base_url=service.url, **FAST) for _ in range(3)]
    assert [type(it) for it in outcomes] == [CreatedDocket] * 3
    assert service.posts == 3


@pytest.fixture
def full() -> Iterator[str]:
    """A service whose queue of connections is full: nobody else gets one."""
    if sys.platform != "linux":
        pytest.skip("other systems refuse such connections")
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        time.sleep(0.1)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@drivers
def test_a_create_that_gets_no_connection_is_retried_and_has_created_nothing(
    full: str, play: Play
) -> None:
    outcome = play(1, base_url=full, connect_timeout=0.2, backoff=0.01, max_attempts=2)
    assert type(outcome) is Unreachable
    assert (len(outcome.attempts), outcome.may_have_created) == (2, False)


def test_a_certificate_of_an_unknown_authority_is_unreachable() -> None:
    import trustme

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    def serve(peer: Peer, connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            peer.hear(secure)

    service = Peer(serve)
    try:
        url = service.url.replace("http:", "https:")
        outcome = in_a_thread(1, base_url=url, max_attempts=1)
    finally:
        service.close()
    assert type(outcome) is Unreachable
    assert "CERTIFICATE_VERIFY_FAILED" in str(outcome.attempts[0].transport_error)
    assert service.posts == 0
