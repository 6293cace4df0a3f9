"""An instance of the core that is lost: every caller learns what may exist, and the next call has
another one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from conftest import DOCKET, DOCKET_ID, KEY, Service, create, create_once, drivers, scripted_outcome

from voice_calling import (
    CreatedDocket,
    DocketRequest,
    ExecutionFailed,
    Ledger,
    LedgerState,
    OutcomeUnknown,
    RequestError,
    VoiceClient,
    _machine,
)
from voice_calling._guest import Guest, GuestLost
from voice_calling._machine import Machine
from voice_calling._operation import Operation
from voice_calling._running import Running
from voice_calling._settings import Settings
from voice_calling._threads import Signal
from voice_calling.testing import CREATED, UNREACHABLE, Answer, ScriptedService


def read(client: Any) -> Any:
    return client.dockets.get(DOCKET_ID)


def trap_at(patch: pytest.MonkeyPatch, event: str) -> None:
    """Lets the guest trap at the first step that has such an event."""
    call = Guest.call

    def trapping(self: Guest, name: str, given: Any) -> Any:
        if name == "step" and any(event in it for it in given["events"]):
            patch.undo()
            raise GuestLost("a trap")
        return call(self, name, given)

    patch.setattr(Guest, "call", trapping)


@drivers
@pytest.mark.parametrize(
    ("event", "operation", "expected", "state"),
    [
        ("Begin", create_once, ExecutionFailed, None),
        ("Claimed", create_once, ExecutionFailed, LedgerState.FREE),
        ("Answered", create_once, OutcomeUnknown, LedgerState.UNKNOWN),
        ("Failed", create_once, ExecutionFailed, LedgerState.FREE),
        ("Answered", create, OutcomeUnknown, None),
        ("Answered", read, ExecutionFailed, None),
    ],
)
def test_when_the_guest_is_lost_its_caller_and_the_ledger_learn_what_may_exist(
    driver: str,
    event: str,
    operation: Any,
    expected: type[RequestError],
    state: LedgerState | None,
    tmp_path: Path,
) -> None:
    service = ScriptedService(UNREACHABLE if event == "Failed" else CREATED)
    with Ledger(tmp_path / "calls.db") as ledger, Ledger(tmp_path / "calls.db") as other:
        with pytest.MonkeyPatch.context() as patch:
            trap_at(patch, event)
            error = scripted_outcome(service, driver, operation, ledger=ledger)
        entry = other.get(KEY)
    assert type(error) is expected
    assert error.may_have_created == (expected is OutcomeUnknown)
    assert "a trap" in str(error)
    assert (entry and entry.state) == state


def test_what_the_guest_has_reported_is_recorded_although_its_driver_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def failing(_: str) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(_machine, "log_attempt", failing)
    with Ledger(tmp_path / "calls.db") as ledger:
        with ScriptedService().client(ledger=ledger) as client:
            assert create_once(client).docket_id == DOCKET_ID
            entry = ledger.get(KEY)
            assert entry is not None
            assert entry.state is LedgerState.DONE


def test_other_callers_learn_it_too_and_the_next_call_has_another_guest(service: Service) -> None:
    service.gate.clear()
    with (
        VoiceClient(environ=service.environ()) as client,
        ThreadPoolExecutor(4) as threads,
        pytest.MonkeyPatch.context() as patch,
    ):
        creates = [threads.submit(create, client) for _ in range(3)]
        for _ in creates:
            service.wait_for_request()
        trap_at(patch, "Begin")
        with pytest.raises(ExecutionFailed):
            read(client)
        for future in creates:
            with pytest.raises(OutcomeUnknown):
                future.result(20)
        service.gate.set()
        assert create(client).status == "OPEN"


def test_a_batch_keeps_what_was_reported_when_the_guest_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = Guest.call

    def trapping(self: Guest, name: str, given: Any) -> Any:
        if name == "step" and given["now_ms"] >= 10_000:
            raise GuestLost("a trap")
        return call(self, name, given)

    service = ScriptedService(CREATED, CREATED, Answer(after=3600))
    requests = [DocketRequest(**DOCKET)] * 5
    with service.client(max_in_flight=3, attempt_timeout=20) as client:
        monkeypatch.setattr(Guest, "call", trapping)
        outcomes = client.dockets.create_many(requests, timeout=3600)
    kinds = [type(it).__name__ for it in outcomes]
    assert kinds.count("CreatedDocket") == 2
    assert kinds.count("OutcomeUnknown") == len(service.requests) - 2 > 0
    assert set(kinds) <= {"CreatedDocket", "OutcomeUnknown", "ExecutionFailed"}


def test_a_guest_that_cannot_be_made_has_created_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(Guest, "__init__", failing)
    with ScriptedService().client() as client, pytest.raises(ExecutionFailed, match="no memory"):
        create(client)


def test_an_answer_to_a_lost_guest_is_not_read_by_the_next() -> None:
    environ = {"BASE_URL": "https://service.test", "API_TOKEN": "test-token"}
    settings = Settings(environ={f"VOICE_CALLING_{name}": it for name, it in environ.items()})
    network = Mock()
    machine = Machine(settings, network)

    def begin() -> Running:
        call = {"CreateDocketV2": {**DOCKET, "call_context": "{}"}}
        operation: Operation[Any] = Operation(call, CreatedDocket, {}, creates=True)
        running = Running(operation, {}, Signal())
        machine.begin(running)
        return running

    begin()
    machine._fail(RuntimeError("a trap"))
    begin()
    old, new = [call.args[0] for call in network.start.call_args_list]
    assert old.number == new.number
    old.on_not_sent("no one listens")
    machine.end(old)
    machine.tick()
    assert network.start.call_count == 2
    assert machine.exchanges == [new]
