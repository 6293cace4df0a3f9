"""Faults of connections on real sockets which the table of cases does not have: what a create ends
in, and that it was sent once at most."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from functools import partial
from typing import Any

import pytest
import trustme
from conftest import DOCKET_ID, TOKEN, Peer, StartPeer, create, drivers, outcome_on

from voice_calling import OutcomeUnknown, RequestError, UnexpectedResponse, Unreachable, _http
from voice_calling.testing import CREATED

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
BODY = CREATED._content()
WHOLE = HEAD % len(BODY) + BODY

OPTIONS: dict[str, Any] = {"environ": {}, "token": TOKEN, "backoff": 0.001, "max_backoff": 0.001}


def resets(peer: Peer, connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def is_silent_after_half_a_body(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(WHOLE[:-20])
    connection.recv(1)


def drips_the_head(peer: Peer, connection: socket.socket) -> None:
    drip(peer, connection, b"HTTP/1.1 200 OK\r\nx-padding: ")


def drips_the_body(peer: Peer, connection: socket.socket) -> None:
    drip(peer, connection, HEAD % 10_000 + b'{"docket_id":"')


def drip(peer: Peer, connection: socket.socket, first: bytes) -> None:
    peer.read_request(connection)
    connection.sendall(first)
    for _ in range(400):
        connection.sendall(b"x")
        time.sleep(0.05)


def closes_when_the_next_request_comes(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(WHOLE)
    connection.recv(1, socket.MSG_PEEK)
    resets(peer, connection)


def answers_twice(peer: Peer, connection: socket.socket) -> None:
    peer.read_request(connection)
    connection.sendall(WHOLE + WHOLE.replace(DOCKET_ID.encode(), b"of another create"))
    connection.recv(1)


def hangs_in_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.recv(65536)


def fails_the_handshake(peer: Peer, connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def answers_over_tls(authority: trustme.CA, peer: Peer, connection: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with context.wrap_socket(connection, server_side=True) as secure:
        for _ in range(2):
            peer.read_request(secure)
            secure.sendall(WHOLE)


def has_a_certificate_of_an_unknown_authority(peer: Peer, connection: socket.socket) -> None:
    answers_over_tls(trustme.CA(), peer, connection)


@drivers
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (is_silent_after_half_a_body, UnexpectedResponse),
        (drips_the_head, OutcomeUnknown),
        (drips_the_body, UnexpectedResponse),
    ],
)
def test_a_create_whose_answer_does_not_end_was_sent_once_and_may_exist(
    start_peer: StartPeer, driver: str, fault: Any, expected: type[RequestError]
) -> None:
    peer = start_peer(fault)
    began = time.monotonic()
    outcome = outcome_on(driver, create, base_url=peer.url, attempt_timeout=0.5, **OPTIONS)
    assert time.monotonic() - began < 5
    assert (type(outcome), outcome.may_have_created) == (expected, True)
    assert (len(outcome.attempts), len(peer.heads)) == (1, 1)
    if expected is UnexpectedResponse:
        assert (outcome.response.status, outcome.response.body_cut) == (200, True)
    if fault is is_silent_after_half_a_body:
        assert DOCKET_ID in outcome.response.body


@drivers
def test_a_head_that_does_not_end_holds_no_connection(start_peer: StartPeer, driver: str) -> None:
    closed = threading.Event()

    def drips(peer: Peer, connection: socket.socket) -> None:
        try:
            drips_the_head(peer, connection)
        except OSError:
            closed.set()

    peer = start_peer(drips)
    outcome_on(driver, create, base_url=peer.url, attempt_timeout=0.2, **OPTIONS)
    assert closed.wait(5)


@drivers
@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (hangs_in_the_handshake, "ConnectTimeout"),
        (fails_the_handshake, "ConnectError"),
        (has_a_certificate_of_an_unknown_authority, "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_a_tls_handshake_that_hangs_or_fails_has_sent_nothing(
    start_peer: StartPeer, driver: str, fault: Any, shown: str
) -> None:
    peer = start_peer(fault)
    options = {**OPTIONS, "max_attempts": 2, "connect_timeout": 0.3}
    outcome = outcome_on(driver, create, base_url=peer.url.replace("http:", "https:"), **options)
    assert (type(outcome), outcome.may_have_created) == (Unreachable, False)
    assert shown in outcome.attempts[0].transport_error
    assert (len(outcome.attempts), peer.connections, peer.heads) == (2, 2, [])


@drivers
def test_creates_over_tls_share_a_connection(
    start_peer: StartPeer, monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    authority, trust = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(trust)
    monkeypatch.setattr(_http, "_trust", lambda: trust)
    peer = start_peer(partial(answers_over_tls, authority))
    url = peer.url.replace("http:", "https:")
    assert outcome_of_second_create(driver, url).docket_id == DOCKET_ID
    assert (peer.connections, len(peer.heads)) == (1, 2)


@drivers
def test_an_idle_connection_that_is_closed_under_a_create_sends_no_post_twice(
    start_peer: StartPeer, driver: str
) -> None:
    peer = start_peer(closes_when_the_next_request_comes)
    assert type(outcome_of_second_create(driver, peer.url)) is OutcomeUnknown
    assert len(peer.heads) == 1  # the second was never read


@drivers
def test_a_connection_that_was_idle_for_long_is_not_used_again(
    start_peer: StartPeer, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "_LONGEST_IDLE_S", 0.0)
    peer = start_peer(closes_when_the_next_request_comes)
    assert outcome_of_second_create(driver, peer.url).docket_id == DOCKET_ID
    assert peer.connections == 2


@drivers
def test_an_answer_to_no_request_is_not_that_of_the_next_create(
    start_peer: StartPeer, driver: str
) -> None:
    peer = start_peer(answers_twice)
    assert outcome_of_second_create(driver, peer.url).docket_id == DOCKET_ID
    assert peer.connections == 2


def outcome_of_second_create(driver: str, url: str) -> Any:
    async def create_two(client: Any) -> Any:
        await create(client)
        return await create(client)

    call = create_two if driver != "threads" else lambda it: [create(it), create(it)][1]
    return outcome_on(driver, call, base_url=url, **OPTIONS)
