"""What ends a call from outside: Ctrl-C, cancelled tasks, ends of loops and interpreters, forks."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, Service, finished, started

import voice_calling as vc
from voice_calling.testing import Answer


def test_ctrl_c_ends_a_create_at_once_and_its_outcome_is_logged(service: Service) -> None:
    service.gate.clear()
    code = """
        try:
            client.dockets.create(**DOCKET, external_id="crm-1")
        except KeyboardInterrupt:
            print("interrupted")
    """
    with started(service, code) as process:
        service.wait_for_request()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert out == "interrupted\n"
    assert "may exist" in err
    assert "crm-1" in err
    assert len(service.requests) == 1


def test_ctrl_c_in_a_pause_sends_nothing_more(service: Service) -> None:
    service.answers[:] = [Answer(429, headers={"retry-after": "9"})]
    code = """
        try:
            client.dockets.create(**DOCKET)
        except KeyboardInterrupt:
            print("interrupted")
    """
    with started(service, code) as process:
        service.wait_for_request()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
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
    until = time.monotonic() + 5
    while "crm-1" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert "crm-1" in caplog.text


def test_a_result_that_arrives_as_its_task_is_cancelled_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with vc.AsyncVoiceClient(environ=service.environ()) as client:
            create = asyncio.create_task(client.dockets.create(**DOCKET, external_id="crm-1"))
            await asyncio.sleep(0)
            service.wait_for_request()  # the loop stands still until the answer is there
            time.sleep(0.3)
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
    until = time.monotonic() + 5
    while "crm-1" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert DOCKET_ID in caplog.text
    del pending
    gc.collect()


def test_the_end_of_the_interpreter_logs_creates_in_flight(service: Service) -> None:
    service.gate.clear()
    code = """
        create = lambda: client.dockets.create(**DOCKET, external_id="crm-1")
        threading.Thread(target=create, daemon=True).start()
        sys.stdin.readline()
    """
    with started(service, code) as process:
        service.wait_for_request()
        _, err = process.communicate("\n", timeout=20)
    assert process.returncode == 0, err
    assert "crm-1" in err


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
    for _ in range(50):
        client = vc.VoiceClient(environ=service.environ())
        client.dockets.create(**DOCKET)
        requests = [vc.DocketRequest(**DOCKET, external_id=str(it)) for it in range(3)]
        client.dockets.create_each(requests, timeout=5)
        next(client.dockets.create_each(requests, timeout=5))
    gc.collect()
    assert threading.active_count() < 150


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
        threads = [threading.Thread(target=busy, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        codes = []
        for n in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(15)
                client.dockets.create(**DOCKET, **key(f"child-{{n}}"))
                os._exit(0)
            codes.append(os.waitpid(pid, 0)[1])
        go = False
        for thread in threads:
            thread.join()
        print(codes.count(0))
    """
    assert finished(service, code) == "10"
