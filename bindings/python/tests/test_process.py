"""What concerns the whole process: Ctrl-C, its end, forks, limits, and what cannot be imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Answer, Serve, Service
from readme import README

posix = pytest.mark.skipif(sys.platform == "win32", reason="a matter of POSIX")

CREATE = 'client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})'


@contextmanager
def started(service: Service, code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python of its own that runs `code`, with a client of the service."""
    # Ctrl-C is ignored where a shell runs the tests in the background, and children inherit that.
    head = """
        import logging, os, signal, sys, time
        import voice_calling
        from voice_calling import *
        signal.signal(signal.SIGINT, signal.default_int_handler)
        client = VoiceClient(max_attempts=5)
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
    assert process.returncode == 0, err
    return out.strip()


@posix
def test_ctrl_c_ends_a_call_at_once_and_nothing_more_is_sent(serve: Serve) -> None:
    service = serve(Answer(503, ""))
    service.gate.clear()
    code = f"""
        try:
            {CREATE}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        sys.stdin.read()
        time.sleep(0.5)
    """
    with started(service, code) as process:
        service.wait_for_request()
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "interrupted\n"
        service.gate.set()
        process.communicate(timeout=20)
    assert len(service.requests) == 1


def test_a_call_in_flight_does_not_hold_up_the_end(serve: Serve) -> None:
    service = serve()
    service.gate.clear()
    code = f"""
        import threading
        logging.basicConfig(level=logging.DEBUG)
        threading.Thread(target=lambda: {CREATE}, daemon=True).start()
        sys.stdin.read(1)
    """
    with started(service, code) as process:
        service.wait_for_request()
        started_at = time.monotonic()
        _, err = process.communicate("\n", timeout=20)
        assert process.returncode == 0, err
        assert time.monotonic() - started_at < 5


@pytest.mark.parametrize("logs", [True, False])
@pytest.mark.parametrize("round", range(5))
def test_a_process_with_many_calls_under_way_ends_in_peace(
    serve: Serve, logs: bool, round: int
) -> None:
    service = serve(Answer(503, ""))
    code = f"""
        import threading
        def call():
            try:
                {CREATE}
            except BaseException:
                pass
        client = VoiceClient(max_attempts=100)
        if {logs}:
            logging.basicConfig(level=logging.DEBUG, stream=open(os.devnull, "w"))
        for _ in range(8):
            threading.Thread(target=call, daemon=True).start()
        sys.stdin.read(1)
    """
    with started(service, code) as process:
        for _ in range(8):
            service.wait_for_request()
        _, err = process.communicate("\n", timeout=20)
    assert (process.returncode, err) == (0, "")


def test_the_end_of_the_process_refuses_further_calls(service: Service) -> None:
    code = f"""
        import atexit
        def call():
            for each in [client, VoiceClient()]:
                try:
                    each.dockets.get("d-1")
                except RuntimeError as error:
                    print(error)
        atexit.unregister(voice_calling._pool._exit)
        atexit.register(call)
        atexit.register(voice_calling._pool._exit)
        {CREATE}
    """
    assert finished(service, code) == "the client is closed\nthe client is closed"
    assert len(service.requests) == 1


@posix
def test_a_fork_after_calls_is_told(service: Service) -> None:
    code = f"""
        {CREATE}
        if os.fork() == 0:
            for call in [lambda: {CREATE}, lambda: parse_docket_completed(b"null")]:
                try:
                    call()
                except ExecutionFailed as error:
                    print(error, flush=True)
            os._exit(0)
        os.wait()
        print({CREATE}.status)
    """
    first, second, third = finished(service, code).splitlines()
    assert first == second
    assert "forked" in first
    assert "nothing was sent" in first
    assert third == "OPEN"


@posix
def test_a_fork_before_any_call_is_fine(service: Service) -> None:
    code = f"""
        if os.fork() == 0:
            print({CREATE}.status, flush=True)
            os._exit(0)
        os.wait()
    """
    assert finished(service, code) == "OPEN"


@posix
def test_little_address_space_suffices(service: Service) -> None:
    code = f"""
        import resource, threading
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        threads = [threading.Thread(target=lambda: {CREATE}) for _ in range(32)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print({CREATE}.status)
    """
    assert finished(service, code) == "OPEN"
    assert len(service.requests) == 33


def test_the_versions_of_wasmtime_are_those_that_the_readme_says() -> None:
    assert version() == os.environ.get("EXPECTED_WASMTIME", version())
    assert version() in README.read_text(encoding="utf-8")


def test_where_wasmtime_cannot_be_imported_it_is_said_what_is_needed() -> None:
    program = """
        import sys
        sys.modules["wasmtime"] = None
        try:
            import voice_calling
        except ImportError as error:
            print(error)
    """
    assert "Linux (x86_64, aarch64" in python(program)


def test_a_wasmtime_that_passes_values_otherwise_is_refused() -> None:
    for change in [
        "del ffi.wasmtime_component_val_new",
        "ffi.WASMTIME_COMPONENT_S64 = ffi.WASMTIME_COMPONENT_F64",
    ]:
        program = f"""
            from wasmtime import _ffi as ffi
            {change}
            try:
                import voice_calling
            except ImportError as error:
                print(error)
        """
        told = python(program)
        assert "cannot pass values to wasmtime" in told
        assert "wasmtime>=46.0.1" in told


def python(program: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
