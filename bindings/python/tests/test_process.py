"""What ends a call from outside: Ctrl-C, cancelled tasks, ends of loops and interpreters, forks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import freezegun
import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, PATIENCE_S, Service, finished, started

import voice_calling as vc
from voice_calling.testing import Answer


def test_ctrl_c_in_a_pause_sends_nothing_more(service: Service) -> None:
    service.answers[:] = [Answer(429, headers={"retry-after": "30"})]
    code = """
        on_end = lambda _: print("the pause begins", flush=True)
        client = VoiceClient(max_retries=4, on_attempt=lambda _: on_end)
        try:
            client.dockets.create(**DOCKET)
        except KeyboardInterrupt:
            print("interrupted")
    """
    with started(service, code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "the pause begins\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (out, err) == ("interrupted\n", "")
    assert len(service.requests) == 1


def test_a_cancelled_task_sends_nothing_more_and_its_create_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.gate.clear()

    async def main() -> None:
        async with vc.AsyncVoiceClient(environ=service.environ()) as client:
            create = asyncio.create_task(client.dockets.create(**DOCKET, external_id="crm-1"))
            await asyncio.to_thread(service.wait_for_request)
            create.cancel()
            with pytest.raises(asyncio.CancelledError):
                await create
            service.gate.set()
            await client.dockets.create(**DOCKET)

    asyncio.run(main())
    until = time.monotonic() + PATIENCE_S
    while "crm-1" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert "crm-1" in caplog.text


def test_a_result_that_arrives_as_its_task_is_cancelled_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = threading.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        call_soon = loop.call_soon_threadsafe

        def call(*given: Any) -> None:
            call_soon(*given)
            arrived.set()

        monkeypatch.setattr(loop, "call_soon_threadsafe", call)
        async with vc.AsyncVoiceClient(environ=service.environ()) as client:
            create = asyncio.create_task(client.dockets.create(**DOCKET, external_id="crm-1"))
            await asyncio.sleep(0)
            # The loop stands still until the result is there.
            assert arrived.wait(PATIENCE_S)
            create.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await create

    asyncio.run(main())
    assert DOCKET_ID in caplog.text


def test_a_loop_that_ends_with_a_create_in_flight_loses_no_id(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.gate.clear()
    client = vc.AsyncVoiceClient(environ=service.environ())

    async def leave() -> None:
        asyncio.get_running_loop().create_task(client.dockets.create(**DOCKET, external_id="crm-1"))
        await asyncio.to_thread(service.wait_for_request)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    [pending] = asyncio.all_tasks(loop)
    pending._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    service.gate.set()
    until = time.monotonic() + PATIENCE_S
    while "crm-1" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert DOCKET_ID in caplog.text
    del pending
    gc.collect()


def test_64_threads_share_a_client(service: Service) -> None:
    with vc.VoiceClient(environ=service.environ(), max_in_flight=64) as client:
        with ThreadPoolExecutor(64) as threads:
            created = list(threads.map(lambda _: client.dockets.create(**DOCKET), range(640)))
    assert len(created) == len(service.requests) == 640


def test_a_client_is_used_on_several_event_loops(service: Service) -> None:
    client = vc.AsyncVoiceClient(environ=service.environ())

    async def create() -> str:
        return (await client.dockets.create(**DOCKET)).docket_id

    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(asyncio.run(create()))) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids == [DOCKET_ID] * 4


def test_clients_and_batches_are_freed(service: Service) -> None:
    def held() -> int:
        return sum(len(os.listdir(f"/proc/self/{it}")) for it in ("fd", "task"))

    def use() -> None:
        client = vc.VoiceClient(environ=service.environ())
        client.dockets.create(**DOCKET)
        requests = [vc.DocketRequest(**DOCKET, external_id=str(it)) for it in range(3)]
        client.dockets.create_each(requests, timeout=5)
        next(client.dockets.create_each(requests, timeout=5))

    use()
    before = held()
    for _ in range(50):
        use()
    gc.collect()
    until = time.monotonic() + PATIENCE_S
    # The service is in this process as well: a connection is two sockets and a thread.
    while held() > before + 30 and time.monotonic() < until:
        time.sleep(0.05)
    assert held() <= before + 30


def test_an_answer_counts_that_arrived_while_the_process_was_stopped(service: Service) -> None:
    code = """
        client = VoiceClient(timeout=2, attempt_timeout=1, max_retries=0)
        for _ in sys.stdin:
            print(time.monotonic(), flush=True)
            try:
                print(client.dockets.create(**DOCKET).docket_id, flush=True)
            except OutcomeUnknownError as error:
                print(error, flush=True)
    """
    with started(service, code) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        is_in_time, found = False, ""
        # On a slow machine the time may be up before the process is stopped.
        while not is_in_time:
            service.gate.clear()
            process.stdin.write("\n")
            process.stdin.flush()
            began = float(process.stdout.readline())
            service.wait_for_request()
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            is_in_time = time.monotonic() < began + 1
            service.gate.set()
            assert service.answered.acquire(timeout=PATIENCE_S)
            time.sleep(3)
            process.send_signal(signal.SIGCONT)
            found = process.stdout.readline()
    assert found == f"{DOCKET_ID}\n"


def test_clocks_that_a_test_has_frozen_stop_nothing(service: Service, tmp_path: Path) -> None:
    service.answers[:] = [Answer(503), CREATED]
    with freezegun.freeze_time("2020-01-01"):
        with vc.VoiceClient(environ=service.environ(), ledger=tmp_path / "calls.db") as client:
            assert client.dockets.create(**DOCKET).may_be_duplicate
            client.dockets.create(**DOCKET, key="crm-1")
            assert client.ledger is not None
            entry = client.ledger.get("crm-1")
    assert entry is not None
    assert entry.begun_at.year > 2020


def test_a_thread_of_gevents_pool_does_not_hold_up_greenlets(service: Service) -> None:
    service.gate.clear()
    code = """
        from gevent import get_hub, monkey, sleep, spawn
        monkey.patch_all()
        attempts = []
        client = VoiceClient(on_attempt=attempts.append)
        create = get_hub().threadpool.spawn(lambda: client.dockets.create(**DOCKET))
        while not attempts:
            sleep(0.01)
        for _ in range(10):
            sleep(0.01)
        print("ten ticks", flush=True)
        print(create.get().docket_id)
    """
    with started(service, code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ten ticks\n"
        service.gate.set()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out.strip() == DOCKET_ID, err


def program(service: Service, folder: Path, module: str, code: str, *command: str) -> Any:
    """Starts a program from PyPI, which imports this module in the folder."""
    (folder / f"{module}.py").write_text(textwrap.dedent(code))
    environ = {**os.environ, **service.environ(), "PYTHONDONTWRITEBYTECODE": "1"}
    environ["TMPDIR"] = str(folder)
    pipe, command = subprocess.PIPE, (sys.executable, "-m", *command)
    return subprocess.Popen(
        command, cwd=folder, env=environ, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def test_processes_of_xdist_share_a_ledger(service: Service, tmp_path: Path) -> None:
    code = f"""
        import pytest, voice_calling

        @pytest.mark.parametrize("n", range(20))
        def test_create(n):
            with voice_calling.VoiceClient(ledger="calls.db") as client:
                client.dockets.create(**{DOCKET}, key=str(n // 2))
    """
    with program(service, tmp_path, "test_own", code, "pytest", "-q", "-n", "2") as process:
        out, _ = process.communicate(timeout=PATIENCE_S)
    # A create with a key that is in progress in the other process is an error.
    assert re.search(r"\b(1\d|20) passed", out), out
    assert len(service.requests) == 10


def test_workers_of_gunicorn_use_a_client_that_was_preloaded(
    service: Service, tmp_path: Path
) -> None:
    code = f"""
        import os, voice_calling

        client = voice_calling.VoiceClient(ledger="calls.db")
        client.dockets.create(**{DOCKET}, key="of the master")

        def app(environ, start_response):
            client.dockets.create(**{DOCKET}, key=environ["PATH_INFO"])
            start_response("200 OK", [])
            return [str(os.getpid()).encode()]
    """
    arguments = ("gunicorn", "--preload", "-w", "2", "-b", "127.0.0.1:0", "web:app")
    with program(service, tmp_path, "web", code, *arguments) as process:
        try:
            urls = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stdout)
            url = next(it[0] for it in urls if it)
            service.wait_for_request()
            # A worker that waits for the service takes no other request.
            service.gate.clear()
            with ThreadPoolExecutor(4) as threads:
                paths = [f"{url}/{n}" for n in range(40)]
                answers = threads.map(urllib.request.urlopen, paths)
                service.wait_for_request()
                service.wait_for_request()
                service.gate.set()
                pids = {it.read() for it in answers}
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert len(pids) == 2
    assert len(service.requests) == 41


def test_workers_of_celery_use_a_client_of_their_parent(service: Service, tmp_path: Path) -> None:
    code = f"""
        import celery, os, voice_calling

        os.makedirs("queue", exist_ok=True)
        app = celery.Celery("tasks", broker="filesystem://")
        app.conf.broker_transport_options = dict.fromkeys(
            ["data_folder_in", "data_folder_out", "control_folder"], "queue"
        )

        @app.task
        def call(n):
            client.dockets.create(**{DOCKET}, key=str(n))

        if __name__ == "__main__":
            for n in range(10):
                call.delay(n)
        else:
            client = voice_calling.VoiceClient(ledger="calls.db")
            client.dockets.create(**{DOCKET}, key="of the parent")
    """
    # All is in the queue before: a worker would also read a file of which half is written.
    with program(service, tmp_path, "tasks", code, "tasks") as process:
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out
    arguments = ("celery", "-A", "tasks", "worker", "-P", "prefork", "-c", "2", "--without-mingle")
    with program(service, tmp_path, "tasks", code, *arguments) as process:
        try:
            for _ in range(11):
                service.wait_for_request()
        finally:
            process.terminate()
            out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, out
    assert len(service.requests) == 11


@pytest.mark.parametrize("ledger", ["", ', ledger="calls.db"'], ids=["alone", "ledger"])
def test_forks_create_with_connections_and_ledgers_of_their_own(
    service: Service, tmp_path: Path, ledger: str
) -> None:
    service.answers[:] = [CREATED]
    code = f"""
        os.chdir({str(tmp_path)!r})
        client = VoiceClient(max_in_flight=64{ledger})
        key = (lambda name: dict(key=name)) if {bool(ledger)} else (lambda name: dict())
        go = True
        def busy(name):
            n = 0
            while go:
                n += 1
                client.dockets.create(**DOCKET, **key(f"parent-{{name}}-{{n}}"))
                time.sleep({0.05 if ledger else 0})  # a writer without a pause keeps others waiting
        def compute():
            while go:
                pass
        threads = [threading.Thread(target=busy, args=(n,)) for n in range({1 if ledger else 4})]
        # A thread that has released the interpreter then waits for it, also when the fork comes.
        threads += [threading.Thread(target=compute) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = []
        for n in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm({PATIENCE_S})
                client.dockets.create(**DOCKET, **key(f"child-{{n}}"))
                os._exit(0)
            codes.append(os.waitpid(pid, 0)[1])
        go = False
        for thread in threads:
            thread.join()
        print(codes.count(0))
    """
    assert finished(service, code) == "10"
