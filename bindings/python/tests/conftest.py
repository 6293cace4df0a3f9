"""What tests share: a service that does what a test says, the mock service, and programs."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from voice_calling.testing import Answer, Request

TOKEN = "a-token-that-no-log-may-show"
DOCKET: dict[str, Any] = {"agent_id": 7, "to_phone_number": "919876543210", "call_context": {}}
DOCKET_ID = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"
CREATED = Answer(json={"docket_id": DOCKET_ID, "status": "OPEN", "created": True})

PATIENCE_S = 120
"""How long a test waits for what comes soon: only what hangs takes longer."""


class Peer:
    """A server on loopback that does one thing with each of its connections."""

    def __init__(self, serve: Callable[[Peer, socket.socket], None]) -> None:
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            with connection:
                self._serve(self, connection)

    def read_request(self, connection: socket.socket) -> bytes:
        """Reads a request. Raises `ConnectionError` if no whole one comes."""
        content, length = b"", 0
        while b"\r\n\r\n" not in content or len(content) < length:
            if not (piece := connection.recv(65536)):
                raise ConnectionError
            content += piece
            head, end, _ = content.partition(b"\r\n\r\n")
            body = re.search(rb"(?i)content-length: (\d+)", head)
            length = len(head + end) + (int(body[1]) if body else 0)
        return content

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # `close` alone leaves `accept` waiting
        self._socket.close()


class Service(Peer):
    """A service that answers from a list, the last one again and again; while `gate` is closed,
    answers wait. The request with the number `closes_at` closes it."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers) or [CREATED]
        self.requests: list[Request] = []
        self.arrived, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.closes_at: int | None = None
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        super().__init__(lambda _, connection: self._answer_all(connection))

    def _answer_all(self, connection: socket.socket) -> None:
        while True:
            head, _, body = self.read_request(connection).decode().partition("\r\n\r\n")
            first, *fields = head.split("\r\n")
            method, path, _ = first.split(" ")
            headers = {name.lower(): value for name, value in (it.split(": ", 1) for it in fields)}
            with self._lock:
                self.requests.append(
                    Request(method=method, path=path, headers=headers, body=body, at=0)
                )
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if len(self.requests) == self.closes_at:
                    self.gate.clear()
            self.arrived.release()
            self.gate.wait(PATIENCE_S)
            if answer.kind == "lost":
                return
            content = (answer.body or "").encode()
            lines = [f"HTTP/1.1 {answer.status} ", f"content-length: {len(content)}"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items()]
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
            self.answered.release()

    def open_gate(self) -> None:
        """Opens the gate for good."""
        with self._lock:
            self.closes_at = None
            self.gate.set()

    def wait_for_request(self) -> None:
        assert self.arrived.acquire(timeout=PATIENCE_S), "no request came"

    def environ(self) -> dict[str, str]:
        """What a client needs that calls this service."""
        settings = {"BASE_URL": self.url, "API_TOKEN": TOKEN}
        settings |= {"BACKOFF_MS": "1", "MAX_BACKOFF_MS": "1"}
        # They do not end what a slow machine would have finished.
        settings |= {"ATTEMPT_TIMEOUT_MS": "60000", "DEADLINE_MS": str(PATIENCE_S * 1000)}
        return {f"VOICE_CALLING_{name}": value for name, value in settings.items()}

    def close(self) -> None:
        self.gate.set()
        super().close()


Serve: TypeAlias = Callable[..., Service]
"""Starts a service with these answers."""


@pytest.fixture
def opened() -> Iterator[contextlib.ExitStack]:
    """What ends with the test."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(opened: contextlib.ExitStack) -> Serve:
    return lambda *answers: opened.enter_context(contextlib.closing(Service(*answers)))


@pytest.fixture
def service(serve: Serve) -> Service:
    """A service that creates dockets."""
    return serve()


@contextlib.contextmanager
def started(service: Any, code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python of its own that runs `code`, with a client of the service."""
    # Ctrl-C is ignored where a shell runs the tests in the background, and children inherit that.
    head = f"""
        import logging, os, signal, sys, threading, time
        import voice_calling
        from voice_calling import *
        signal.signal(signal.SIGINT, signal.default_int_handler)
        logging.basicConfig()
        client = VoiceClient(max_retries=4)
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
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    return out.strip()


@pytest.fixture(scope="session")
def mock_service() -> Iterator[str]:
    """The base URL of the mock service."""
    with harness("MOCK", "--port", "0", "--call-ms", "50") as url:
        yield url


@contextlib.contextmanager
def harness(variable: str, *arguments: str) -> Iterator[str]:
    """The address that a program prints first, where it serves until the end."""
    program = os.environ.get(variable)
    if program is None or not Path(program).is_file():
        pytest.fail(
            f"{variable} has to name a program: `host-test`, or MOCK `voice-calling-mock` "
            "(`cargo xtask bindings test` does all that)"
        )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [program, *arguments], stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        assert process.stdout is not None
        try:
            yield next(
                found[0]
                for line in process.stdout
                if (found := re.search(r"http://127\.0\.0\.1:\d+", line))
            )
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but loopback is ever called, in any environment."""
    for name in os.environ:
        if name.startswith("VOICE_CALLING_"):
            monkeypatch.delenv(name)
