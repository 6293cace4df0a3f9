"""What concerns the whole process: its end, its threads, and forks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest
from conftest import DOCKET, Serve, Service, finished, posix, started

from voice_calling import RequestError, VoiceClient, _workers
from voice_calling.testing import CREATED, Answer


@pytest.mark.parametrize("logs", [True, False])
@pytest.mark.parametrize("round", range(5))
def test_a_process_with_many_calls_in_flight_ends_without_a_crash(
    serve: Serve, logs: bool, round: int
) -> None:
    service = serve(Answer(503, ""))
    code = f"""
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
    assert process.returncode == 0
    assert all(line.startswith("the process ends: ") for line in err.splitlines()), err


CREATE = "client.dockets.create(**DOCKET)"


def test_a_call_after_the_end_of_the_package_is_refused_and_does_not_hang() -> None:
    program = """
        import voice_calling

        class Late:
            def __del__(self):
                try:
                    client.dockets.create(agent_id=7, to_phone_number="9", call_context={})
                except voice_calling.ExecutionFailed as error:
                    print(error)

        client = voice_calling.VoiceClient(base_url="http://127.0.0.1:9", token="token-token")
        finalizer = Late()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "nothing was sent" in printed


@pytest.mark.parametrize("name", ["voice-calling", "voice-calling-timer"])
def test_a_thread_that_cannot_be_started_fails_its_call_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    service = serve(Answer(503, ""), Answer(503, ""), CREATED)
    monkeypatch.setattr(_workers, "WORKERS", _workers.Workers())
    monkeypatch.setattr(_workers, "TIMER", _workers.Timer())
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name == name:
            raise RuntimeError("can't start new thread")
        start(thread)

    with VoiceClient(environ=service.environ(), max_attempts=5) as client:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refused)
            with pytest.raises(RequestError, match="can't start new thread"):
                client.dockets.create(**DOCKET)
        assert client.dockets.create(**DOCKET).status == "OPEN"


def test_closed_clients_leave_no_threads_behind(serve: Serve) -> None:
    service = serve(Answer(503, ""), CREATED)
    code = f"""
        for _ in range(100):
            with VoiceClient() as client:
                {CREATE}
        print(threading.active_count())
    """
    assert int(finished(service, code)) <= 4


COMPILES_SLOWLY = """
        import wasmtime
        compiles, parent = wasmtime.Module, os.getpid()
        def slow(*arguments):
            assert os.getpid() == parent  # it is not compiled again
            begun.set()
            time.sleep(0.5)
            return compiles(*arguments)
        wasmtime.Module = slow
"""
IMPORTS_SLOWLY = """
        class Slow:
            def find_spec(name, *_):
                if name == "voice_calling._connection":
                    begun.set()
                    time.sleep(0.5)
        sys.meta_path.insert(0, Slow)
"""


@posix
@pytest.mark.parametrize("slow", [COMPILES_SLOWLY, IMPORTS_SLOWLY])
def test_a_fork_waits_for_what_the_first_call_does_once(service: Service, slow: str) -> None:
    code = f"""
        begun = threading.Event()
        {slow}
        thread = threading.Thread(target=lambda: {CREATE})
        thread.start()
        begun.wait()
        if os.fork() == 0:
            print({CREATE}.status, flush=True)
            os._exit(0)
        os.wait()
        thread.join()
    """
    assert finished(service, code) == "OPEN"


def test_workers_import_nothing_whose_lock_a_fork_could_take_along(service: Service) -> None:
    code = f"""
        from voice_calling import _guest
        compiles = _guest._compile
        def noted():
            compiled = compiles()
            noted.modules = set(sys.modules)
            return compiled
        _guest._compile = noted
        {CREATE}
        print(set(sys.modules) - noted.modules)
    """
    assert finished(service, code) == "set()"


@posix
@pytest.mark.parametrize("first", ["", CREATE])
def test_after_a_fork_the_child_has_connections_of_its_own(service: Service, first: str) -> None:
    code = f"""
        {first}
        if os.fork() == 0:
            print({CREATE}.status, parse_docket_completed(b"null"), flush=True)
            os._exit(0)
        os.wait()
        print({CREATE}.status)
    """
    assert finished(service, code).splitlines() == ["OPEN None", "OPEN"]
    assert len(service.requests) == (3 if first else 2)


@posix
def test_a_fork_after_calls_of_a_users_http_client_is_an_error(service: Service) -> None:
    code = f"""
        import httpx
        client = VoiceClient(http_client=httpx.Client())
        {CREATE}
        if os.fork() == 0:
            try:
                {CREATE}
            except ExecutionFailed as error:
                print(error, error.may_have_created, flush=True)
            os._exit(0)
        os.wait()
        print({CREATE}.status)
    """
    first, second = finished(service, code).splitlines()
    assert "forked" in first
    assert first.endswith("False")
    assert second == "OPEN"
    assert len(service.requests) == 2
