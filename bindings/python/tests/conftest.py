"""What tests share: a service that does what a test says, the mock service, and clients in threads
and on event loops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
import trio

from voice_calling import AsyncVoiceClient, RequestError, VoiceClient
from voice_calling.testing import CREATED, Answer, Request, ScriptedService

TOKEN = "a-token-that-nobody-may-see"
DOCKET: dict[str, Any] = {"agent_id": 7, "to_phone_number": "919876543210", "call_context": {}}
DOCKET_ID = CREATED.body["docket_id"]
KEY = "crm-1001"


class Service:
    """A service on loopback. It answers from a list, the last one again and again; while `gate` is
    closed, requests wait."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers) or [CREATED]
        self.requests: list[Request] = []
        self.arrived = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        self.hangs_after: int | None = None
        """How many requests are answered; later ones wait for the end."""
        self._end = threading.Event()
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service.serve(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 1024

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that has gone

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length") or 0)
        body = handler.rfile.read(length)
        if len(body) < length:  # the client was killed
            return
        with self._lock:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            self.requests.append(Request(handler.command, handler.path, headers, body.decode()))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            hangs = self.hangs_after is not None and len(self.requests) > self.hangs_after
        if hangs:
            self._end.wait(30)
        self.arrived.release()
        self.gate.wait(30)
        content = answer._content()
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def wait_for_request(self) -> None:
        assert self.arrived.acquire(timeout=20), "no request came"

    def environ(self, **settings: str) -> dict[str, str]:
        """What a client needs that calls this service."""
        given = {"BASE_URL": self.url, "API_TOKEN": TOKEN, "BACKOFF_MS": "1", "MAX_BACKOFF_MS": "1"}
        return {f"VOICE_CALLING_{name}": value for name, value in {**given, **settings}.items()}

    def close(self) -> None:
        self.gate.set()
        self._end.set()
        self.server.shutdown()
        self.server.server_close()


Serve: TypeAlias = Callable[..., Service]
"""Starts a service with these answers."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts services, and ends them with the test."""
    services: list[Service] = []

    def start(*answers: Answer) -> Service:
        services.append(Service(*answers))
        return services[-1]

    yield start
    for service in services:
        service.close()


@pytest.fixture
def service(serve: Serve) -> Service:
    """A service that creates dockets."""
    return serve()


class Peer:
    """A server of one behaviour, for faults that no HTTP server has."""

    def __init__(self, serve: Callable[[Peer, socket.socket], None]) -> None:
        self.heads: list[str] = []
        """The first lines of the requests."""
        self.connections = 0
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self._serve(self, connection)

    def read_request(self, connection: socket.socket) -> bytes:
        """Reads a request, whose body, if it has one, is an object."""
        content = b""
        while b"\r\n\r\n" not in content or (b"POST" in content and content[-1:] != b"}"):
            if not (piece := connection.recv(65536)):
                raise ConnectionError
            content += piece
        self.heads.append(content.split(b"\r\n")[0].decode())
        return content

    def close(self) -> None:
        self._socket.close()


StartPeer: TypeAlias = Callable[[Callable[[Peer, socket.socket], None]], Peer]


@pytest.fixture
def start_peer() -> Iterator[StartPeer]:
    """Starts peers, and ends them with the test."""
    peers: list[Peer] = []

    def started(serve: Callable[[Peer, socket.socket], None]) -> Peer:
        peers.append(Peer(serve))
        return peers[-1]

    yield started
    for each in peers:
        each.close()


drivers = pytest.mark.parametrize("driver", ["threads", "asyncio", "trio"])


def outcome_on(
    driver: str, call: Callable[[Any], Any], http: dict[str, Any] | None = None, **options: Any
) -> Any:
    """Returns what a call of a new client ends in: a value, or the error that it raises. `http`:
    options of an `httpx` client of the user's."""

    is_async = driver != "threads"
    http_class: Any = httpx.AsyncClient if is_async else httpx.Client
    client_class: Any = AsyncVoiceClient if is_async else VoiceClient
    http_client = None if http is None else http_class(**http)
    if http_client is not None:
        options["http_client"] = http_client
    client = client_class(**options)
    if not is_async:
        with client, http_client or contextlib.nullcontext():
            try:
                return call(client)
            except RequestError as error:
                return error

    async def main() -> Any:
        async with client, http_client or contextlib.nullcontext():
            try:
                return await call(client)
            except RequestError as error:
                return error

    return trio.run(main) if driver == "trio" else asyncio.run(main())


def scripted_outcome(
    service: ScriptedService, driver: str, call: Callable[[Any], Any], **options: Any
) -> Any:
    """Returns what a call of a new client of a scripted service ends in."""
    http_client = service.http_client() if driver == "threads" else service.async_http_client()
    return outcome_on(driver, call, http_client=http_client, **service._options(options))


def create(client: Any, **changes: Any) -> Any:
    """Creates a docket."""
    return client.dockets.create(**{**DOCKET, **changes})


def create_once(client: Any, **changes: Any) -> Any:
    """Creates a docket with a key."""
    return create(client, **{"once": KEY, **changes})


posix = pytest.mark.skipif(sys.platform == "win32", reason="a matter of POSIX")


@contextlib.contextmanager
def started(service: Service, code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python of its own that runs `code`, with a client of the service."""
    # Ctrl-C is ignored where a shell runs the tests in the background, and children inherit that.
    head = f"""
        import logging, os, signal, sys, threading, time
        import voice_calling
        from voice_calling import *
        signal.signal(signal.SIGINT, signal.default_int_handler)
        client = VoiceClient(max_attempts=5)
        DOCKET = {DOCKET}
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    environ = {**os.environ, **service.environ(), "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finished(service: Service, code: str) -> str:
    """What it prints."""
    with started(service, code) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    return out.strip()


@pytest.fixture(scope="session")
def mock_service() -> Iterator[str]:
    """The base URL of the mock service."""
    program = os.environ.get("HOST_TEST")
    if program is None or not Path(program).is_file():
        pytest.fail(
            "HOST_TEST has to name the program `host-test` "
            "(cargo build --package host-test; `cargo xtask bindings test` does all that)"
        )
    command = [program, "mock", "--port", "0", "--call-ms", "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.search(r"VOICE_CALLING_BASE_URL=(\S+)", line):
                    yield found[1]
                    break
            else:
                pytest.fail("the mock service did not print its address")
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but loopback is ever called, in any environment."""
    for name in os.environ:
        if name.startswith("VOICE_CALLING_"):
            monkeypatch.delenv(name)
