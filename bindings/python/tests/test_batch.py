"""Batches: any iterable, read as it comes, in both clients."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import pytest
from conftest import DOCKET, Service

import voice_calling as vc
from voice_calling.testing import ScriptedService


def request(index: int, **changes: object) -> vc.DocketRequest:
    return vc.DocketRequest(**{**DOCKET, "external_id": f"crm-{index}", **changes})


def requests(count: int) -> list[vc.DocketRequest]:
    return [request(index) for index in range(count)]


def test_nothing_is_sent_before_start_which_sends_a_list_without_a_reader(
    service: Service,
) -> None:
    with vc.VoiceClient(environ=service.environ()) as client:
        with client.dockets.create_each(requests(2), timeout=60) as batch:
            assert service.requests == []
            batch.start()
            service.wait_for_request()
            service.wait_for_request()
            assert len(list(batch)) == 2


def test_a_list_is_checked_before_anything_is_sent() -> None:
    service = ScriptedService()
    wrong = [request(0), "crm-1"]
    with service.client() as client:
        with pytest.raises(vc.InvalidInputError, match=r"requests\[1\]: found str"):
            client.dockets.create_each(wrong, timeout=60)  # type: ignore[arg-type]
        with pytest.raises(vc.InvalidInputError, match=r"requests\[0\].external_id: found None"):
            client.dockets.create_each(
                [request(0, external_id=None)], timeout=60, key="external_id"
            )
    assert service.requests == []


def test_a_generator_is_read_one_by_one_in_the_thread_of_the_reader(service: Service) -> None:
    import threading

    taken: list[int] = []

    def source() -> Iterator[vc.DocketRequest]:
        for index in range(100):
            assert threading.current_thread() is threading.main_thread()
            taken.append(index)
            yield request(index)

    with vc.VoiceClient(environ=service.environ(), max_in_flight=4) as client:
        with client.dockets.create_each(source(), timeout=60) as batch:
            assert taken == []
            results = iter(batch)
            next(results)
            assert len(taken) < 20
            assert len(list(results)) == 99
            assert batch._requests == {}


def test_an_exception_of_the_iterable_follows_the_results_before_it() -> None:
    def source() -> Iterator[vc.DocketRequest]:
        yield from requests(3)
        raise ZeroDivisionError

    with ScriptedService().client() as client:
        batch = client.dockets.create_each(source(), timeout=60)
        assert sorted(next(batch).index for _ in range(3)) == [0, 1, 2]
        with pytest.raises(ZeroDivisionError):
            next(batch)


def test_a_request_that_a_check_refuses_fails_in_its_place() -> None:
    def may_call(request: vc.DocketRequest | vc.CallRequest) -> bool | str:
        assert isinstance(request, vc.DocketRequest)
        if request.external_id == "crm-5":
            raise ZeroDivisionError
        return request.external_id not in ("crm-0", "crm-1", "crm-3") or "said no"

    async def await_all(service: ScriptedService) -> list[vc.BatchResult]:
        async with service.async_client(may_call=may_call) as client:
            return await client.dockets.create_each(requests(5), timeout=60)

    service = ScriptedService()
    with service.client(may_call=may_call) as client:
        batch = client.dockets.create_each(requests(6), timeout=60)
        results = sorted((next(batch) for _ in range(5)), key=lambda result: result.index)
        with pytest.raises(ZeroDivisionError):
            next(batch)
    for found in (results, asyncio.run(await_all(service))):
        assert [result.request for result in found] == requests(5)
        refused = [result.index for result in found if result.error]
        assert refused == [0, 1, 3]
        assert str(found[0].error).startswith("to_phone_number: found said no")
    sent = sorted(it.json["external_id"] for it in service.requests)
    assert sent == ["crm-2", "crm-2", "crm-4", "crm-4"]


def test_ctrl_c_in_a_check_loses_no_request() -> None:
    checked: list[object] = []

    def may_call(request: object) -> bool:
        checked.append(request)
        if len(checked) == 2:
            raise KeyboardInterrupt
        return True

    with ScriptedService().client(may_call=may_call) as client:
        batch = client.dockets.create_each(requests(3), timeout=60)
        results: list[vc.BatchResult] = []
        with pytest.raises(KeyboardInterrupt):
            results.extend(batch)
        batch.stop()
        results.extend(batch)
        assert {it.index: it.request for it in results} == dict(enumerate(requests(3)))


def test_what_a_stopped_batch_has_not_begun_says_so(service: Service) -> None:
    service.gate.clear()
    with vc.VoiceClient(environ=service.environ(), max_in_flight=2) as client:
        batch = client.dockets.create_each(requests(9), timeout=60)
        batch.start()
        service.wait_for_request()
        service.wait_for_request()
        batch.stop()
        service.gate.set()
        results = list(batch)
    assert sum(result.created is not None for result in results) == 2
    assert [type(it.error) for it in results if it.error] == [vc.NotBegunError] * 7
    assert len(service.requests) == 2


def test_coroutines_read_lists_and_asynchronous_iterables_or_await_all() -> None:
    async def source() -> AsyncIterator[vc.DocketRequest]:
        for index in range(5):
            await asyncio.sleep(0)
            yield request(index)

    async def main() -> None:
        service = ScriptedService()
        async with service.async_client() as client:
            async with client.dockets.create_each(source(), timeout=60) as batch:
                assert service.requests == []
                read = [result.index async for result in batch]
            assert sorted(read) == [0, 1, 2, 3, 4]
            results = await client.dockets.create_each(iter(requests(20)), timeout=60)
            assert [result.request for result in results] == requests(20)
            assert all(result.created for result in results)

    asyncio.run(main())


def test_a_cancelled_read_loses_no_request() -> None:
    async def main() -> None:
        asked, allowed = asyncio.Event(), asyncio.Event()

        async def may_call(_: object) -> bool:
            asked.set()
            return await allowed.wait()

        async def source() -> AsyncIterator[vc.DocketRequest]:
            asked.set()
            await asyncio.Event().wait()
            yield request(0)

        async def cancelled_read(batch: vc.AsyncBatch) -> None:
            asked.clear()
            read = asyncio.ensure_future(batch.__anext__())
            await asked.wait()
            read.cancel()
            await asyncio.wait([read])

        service = ScriptedService()
        async with service.async_client(may_call=may_call) as client:
            batch = client.dockets.create_each(requests(3), timeout=60)
            await cancelled_read(batch)
            allowed.set()
            assert sorted([result.index async for result in batch]) == [0, 1, 2]
        assert len(service.requests) == 3
        async with service.async_client() as client:
            batch = client.dockets.create_each(source(), timeout=60)
            await cancelled_read(batch)
            with pytest.raises(RuntimeError, match="ended the iterable"):
                await anext(batch)
        allowed.clear()
        async with service.async_client(may_call=may_call) as client:
            batch = client.dockets.create_each(requests(3), timeout=60)
            await cancelled_read(batch)
            await batch.aclose()
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
        assert len(service.requests) == 3

    asyncio.run(main())


def test_what_was_created_and_not_returned_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        def source() -> Iterator[vc.DocketRequest]:
            yield from requests(3)
            raise ZeroDivisionError

        async with ScriptedService().async_client() as client:
            with pytest.raises(ZeroDivisionError):
                await client.dockets.create_each(source(), timeout=60)

    asyncio.run(main())
    for index in range(3):
        assert re.search(rf"docket [0-9a-f-]{{36}} .*external_id='crm-{index}'", caplog.text)


def test_a_client_for_threads_takes_no_asynchronous_iterable() -> None:
    async def source() -> AsyncIterator[vc.DocketRequest]:
        yield request(0)

    with ScriptedService().client() as client, pytest.raises(TypeError, match="asynchronous"):
        client.dockets.create_each(source(), timeout=60)
