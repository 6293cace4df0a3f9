"""Batches whose requests come from an iterable of any length."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest
from conftest import DOCKET, Service

from voice_calling import DocketRequest, VoiceClient, outcome_of
from voice_calling.testing import ScriptedService

AHEAD = 12


class Requests:
    """Makes requests, and notes what becomes of its iterators."""

    def __init__(self, count: int = 3_000) -> None:
        self.count = count
        self.taken = 0
        self.is_closed = False

    def __iter__(self) -> Generator[DocketRequest]:
        reader = threading.current_thread()
        try:
            for index in range(self.count):
                self.taken += 1
                yield DocketRequest(**DOCKET, external_id=f"crm-{index}")
                assert threading.current_thread() is reader
        finally:
            self.is_closed = True

    async def in_turn(self) -> AsyncIterator[DocketRequest]:
        with contextlib.closing(iter(self)) as requests:
            for request in requests:
                await asyncio.sleep(0)
                yield request


def assert_small(batch: Any, requests: Requests, read: int) -> None:
    """Nothing grows with the number of the results that were read."""
    running, machine = batch._running, batch._driver._machine
    assert requests.taken <= read + AHEAD
    for known in [running.taken, running.outcomes, running.sent, running.delivered]:
        assert len(known) <= AHEAD
    assert len(machine._exchanges) + len(machine._claims) <= AHEAD


def test_requests_are_taken_as_they_can_be_sent_and_forgotten_once_they_were_read(
    tmp_path: Path,
) -> None:
    requests = Requests()
    indexes: list[int] = []
    with ScriptedService().client(max_in_flight=4, ledger=tmp_path / "calls.db") as client:
        batch = client.dockets.create_each(requests, timeout=60, once="external_id")
        assert requests.taken == 0
        for result in batch:
            assert result.request.external_id == f"crm-{result.index}"
            assert result in batch.results
            assert_small(batch, requests, len(indexes))
            indexes.append(result.index)
    assert sorted(indexes) == list(range(requests.count))
    assert requests.is_closed


@pytest.mark.parametrize("is_async", [True, False])
def test_coroutines_take_them_likewise(is_async: bool) -> None:
    requests = Requests()
    indexes: list[int] = []

    async def main() -> None:
        async with ScriptedService().async_client(max_in_flight=4) as client:
            given = requests.in_turn() if is_async else requests
            batch = client.dockets.create_each(given, timeout=60)
            async for result in batch:
                assert_small(batch, requests, len(indexes))
                indexes.append(result.index)

    asyncio.run(main())
    assert sorted(indexes) == list(range(requests.count))


def test_nothing_is_taken_while_results_are_not_read() -> None:
    requests = Requests()
    service = ScriptedService()
    with service.client(max_in_flight=4) as client:
        with client.dockets.create_each(requests, timeout=60) as batch:
            next(batch)
            threading.Event().wait(0.2)
            assert len(service.requests) <= requests.taken <= AHEAD
    assert requests.is_closed


def test_an_iterable_that_raises_ends_its_batch_as_leaving_it_does(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    def raising() -> Generator[DocketRequest]:
        yield from Requests(3)
        while not service.requests:
            time.sleep(0.01)
        raise ValueError("no line 4")

    service.gate.clear()
    with VoiceClient(environ=service.environ(), max_in_flight=4) as client:
        batch = client.dockets.create_each(raising(), timeout=60)
        with pytest.raises(ValueError, match="no line 4") as raised:
            list(batch)
        assert list(batch) == []
    assert outcome_of(raised.value) == batch.results
    unknown = [it.index for it in batch.results if it.error and it.error.may_have_created]
    assert len(service.requests) <= len(unknown)
    for index in unknown:
        assert f"(request {index} of the batch, external_id 'crm-{index}')" in caplog.text


def test_a_generator_is_closed_with_the_batch_that_is_left() -> None:
    requests = [Requests() for _ in range(3)]

    async def main() -> None:
        async with ScriptedService().async_client() as client:
            async with client.dockets.create_each(requests[1].in_turn(), timeout=60) as batch:
                await anext(batch)
            async for _ in client.dockets.create_each(requests[2], timeout=60):
                break

    with ScriptedService().client() as client:
        for _ in client.dockets.create_each(requests[0], timeout=60):
            break
    asyncio.run(main())
    assert [it.is_closed for it in requests] == [True] * 3


@pytest.mark.parametrize("as_given", [list, iter])
def test_equal_requests_are_warned_of(caplog: pytest.LogCaptureFixture, as_given: Any) -> None:
    given = as_given([*Requests(1), *Requests(2)])
    with ScriptedService().client() as client, caplog.at_level(logging.WARNING):
        list(client.dockets.create_each(given, timeout=60))
    # Batches that other tests have left are logged when they are collected, at any time.
    [line] = [message for message in caplog.messages if " is equal to " in message]
    assert line.startswith("requests[1] is equal to requests[0], and neither has a key (`once`)")
