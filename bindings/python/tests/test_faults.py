"""Faults of connections on real sockets which the table of cases does not have: what a create ends
in, and that it was sent once at most."""

from __future__ import annotations

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
import trustme
from conftest import DOCKET_ID, TOKEN, create, drivers, outcome_on

from voice_calling import (
    OutcomeUnknown,
    RequestError,
    UnexpectedResponse,
    Unreachable,
)

# On trio, httpx leaves generators of its own behind when an exchange breaks.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

BODY = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}'.encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
WHOLE = HEAD % len(BODY) + BODY

OPTIONS: dict[str, Any] = {"environ": {}, "token": TOKEN, "backoff": 0.001, "max_backoff": 0.001}


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

    def read_request(self, connection: socket.socket) -> None:
        """Reads a request, whose body fits into the piece that follows its head."""
        content = b""
        while b"\r\n\r\n" not in content or not content.endswith(b"}"):
            piece = connection.recv(65536)
            if not piece:
                return
            content += piece
        self.posts += content.startswith(b"POST")

    def close(self) -> None:
        self._socket.close()


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def resets_before(peer: Peer, connection: socket.socket) -> None:
    reset(connection)


def silence_after_half_a_body(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(WHOLE[:-20])
    connection.recv(1)


def drips_the_head(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-padding: ")
    drip(connection)


def drips_the_body(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(HEAD % 10_000 + b'{"docket_id":"')
    drip(connection)


def drip(connection: socket.socket) -> None:
    for _ in range(400):
        connection.sendall(b"x")
        time.sleep(0.05)


def sends_a_gibibyte(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(HEAD % 2**30)
    for _ in range(2**14):
        connection.sendall(b" " * 65536)


def closes_when_the_next_request_comes(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(WHOLE)
    connection.recv(1, socket.MSG_PEEK)
    reset(connection)


def hangs_in_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.recv(65536)


def fails_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.fixture
def start() -> Iterator[Callable[..., Peer]]:
    """Starts peers, and ends them with the test."""
    peers: list[Peer] = []

    def started(serve: Callable[[Peer, socket.socket], None]) -> Peer:
        peers.append(Peer(serve))
        return peers[-1]

    yield started
    for each in peers:
        each.close()


Start = Callable[..., Peer]


@drivers
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (silence_after_half_a_body, UnexpectedResponse),
        (drips_the_head, OutcomeUnknown),
        (drips_the_body, UnexpectedResponse),
        (sends_a_gibibyte, UnexpectedResponse),
    ],
)
def test_a_create_whose_answer_does_not_end_was_sent_once_and_may_exist(
    start: Start, driver: str, fault: Any, expected: type[RequestError]
) -> None:
    peer = start(fault)
    began = time.monotonic()
    outcome = outcome_on(driver, create, base_url=peer.url, attempt_timeout=0.5, **OPTIONS)
    assert time.monotonic() - began < 5
    assert (type(outcome), outcome.may_have_created) == (expected, True)
    assert (len(outcome.attempts), peer.posts) == (1, 1)
    if expected is UnexpectedResponse:
        assert (outcome.response.status, outcome.response.body_cut) == (200, True)
    if fault is silence_after_half_a_body:
        assert DOCKET_ID in outcome.response.body


@drivers
def test_a_connection_that_is_reset_before_the_request_sends_no_post_twice(
    start: Start, driver: str
) -> None:
    peer = start(resets_before)
    outcome = outcome_on(driver, create, base_url=peer.url, **OPTIONS)
    assert isinstance(outcome, (OutcomeUnknown, Unreachable))
    assert (peer.posts, peer.connections) == (0, len(outcome.attempts))


@drivers
@pytest.mark.parametrize("fault", [hangs_in_the_handshake, fails_the_handshake])
def test_a_tls_handshake_that_hangs_or_fails_has_sent_nothing(
    start: Start, driver: str, fault: Any
) -> None:
    peer = start(fault)
    url = peer.url.replace("http:", "https:")
    options = {**OPTIONS, "max_attempts": 2, "connect_timeout": 0.3}
    outcome = outcome_on(driver, create, base_url=url, **options)
    assert (type(outcome), outcome.may_have_created) == (Unreachable, False)
    assert (len(outcome.attempts), peer.connections) == (2, 2)


@drivers
def test_an_idle_connection_that_is_closed_under_a_create_sends_no_post_twice(
    start: Start, driver: str
) -> None:
    peer = start(closes_when_the_next_request_comes)

    async def create_two(client: Any) -> Any:
        await create(client)
        return await create(client)

    def twice(client: Any) -> Any:
        return [create(client), create(client)][1]

    call = twice if driver == "threads" else create_two
    outcome = outcome_on(driver, call, base_url=peer.url, **OPTIONS)
    assert type(outcome) is OutcomeUnknown
    assert peer.posts == 1  # the second was never read


@drivers
def test_a_create_that_gets_no_connection_is_retried_and_has_created_nothing(driver: str) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems refuse connections when the queue of a server is full")
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        time.sleep(0.1)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        options = {**OPTIONS, "max_attempts": 2, "connect_timeout": 0.2}
        outcome = outcome_on(driver, create, base_url=url, **options)
    assert (type(outcome), outcome.may_have_created) == (Unreachable, False)
    assert len(outcome.attempts) == 2


def test_a_certificate_of_an_unknown_authority_is_unreachable(start: Start) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    def serve(peer: Peer, connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            peer.read_request(secure)

    peer = start(serve)
    url = peer.url.replace("http:", "https:")
    outcome = outcome_on("threads", create, base_url=url, **{**OPTIONS, "max_attempts": 1})
    assert type(outcome) is Unreachable
    assert "CERTIFICATE_VERIFY_FAILED" in str(outcome.attempts[0].transport_error)
    assert peer.posts == 0
