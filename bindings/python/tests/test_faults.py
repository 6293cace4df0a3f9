"""What wasmtime calls the timeout of a connection: by default the component takes it for certain
that nothing was sent, so it has to cover nothing but the connection."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from conftest import DOCKET, DOCKET_ID, TOKEN, Serve

from voice_calling import OutcomeUnknown, Unreachable, VoiceClient


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


def test_an_answer_that_takes_longer_than_a_connection_may_is_waited_for(serve: Serve) -> None:
    service = serve()
    service.delay = 3.5
    with VoiceClient(environ=service.environ()) as client:
        assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID
    assert len(service.requests) == 1
    with VoiceClient(environ=service.environ(), attempt_timeout=3.2) as client:
        with pytest.raises(OutcomeUnknown):
            client.dockets.create(**DOCKET)
    assert len(service.requests) == 2


def test_a_create_that_gets_no_connection_is_retried_and_has_created_nothing(full: str) -> None:
    with VoiceClient(
        environ={}, base_url=full, token=TOKEN, connect_timeout=0.2, backoff=0.01
    ) as client:
        with pytest.raises(Unreachable) as raised:
            client.dockets.create(**DOCKET, max_attempts=2)
    assert len(raised.value.attempts) == 2
    assert not raised.value.may_have_created


def test_trust_in_the_connection_timeout_of_wasmtime_can_be_turned_off(full: str) -> None:
    environ = {"VOICE_CALLING_TRUST_CONNECTION_TIMEOUT": "false"}
    with VoiceClient(
        environ=environ, base_url=full, token=TOKEN, connect_timeout=0.2, backoff=0.01
    ) as client:
        with pytest.raises(OutcomeUnknown) as raised:
            client.dockets.create(**DOCKET)
    assert len(raised.value.attempts) == 1
