"""Ctrl-C at every instruction of the thread that waits: no created docket is lost."""

from __future__ import annotations

import contextlib
import dis
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import pytest
from conftest import DOCKET
from programs import settle

import voice_calling
from voice_calling import DocketRequest, LedgerState, RequestError, VoiceClient, outcome_of
from voice_calling.testing import Answer, Request, ScriptedService

PACKAGE = str(Path(voice_calling.__file__).parent)

WAITING = ("_threads.py", "_callers.py", "_driver.py", "_running.py", "_client.py")
"""The files of the package in which a caller waits; before them nothing is sent."""

STRIDE = 5
"""All instructions take minutes: each version of Python takes a fifth of them, and the next version
the next fifth."""

REQUESTS = [DocketRequest(**DOCKET, external_id=f"crm-{index}") for index in range(3)]


class Interrupt:
    """A tracer that raises `KeyboardInterrupt` at one instruction of the package: the one with this
    number. The last of the outermost frame is left out: there the interpreter looks for no
    signals, and the result is the caller's."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        waits = frame.f_code.co_name == "in_threads" or frame.f_code.co_filename.endswith(WAITING)
        # What is raised in a finalizer is ignored by Python itself.
        is_finalizer = frame.f_code.co_name == "__del__"
        is_between_lines = frame.f_lineno is None  # the interpreter's own, around handlers
        if event == "opcode" and waits and not (is_finalizer or is_between_lines or returns(frame)):
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def returns(frame: FrameType) -> bool:
    """Whether the caller gets a result next."""
    opcode = frame.f_code.co_code[frame.f_lasti]
    back = frame.f_back
    is_outermost = back is None or not back.f_code.co_filename.startswith(PACKAGE)
    return is_outermost and opcode == dis.opmap["RETURN_VALUE"]


Program: TypeAlias = Callable[[VoiceClient, list[Any]], None]
"""Uses a client, and adds to the list what it has from it."""


def create(client: VoiceClient, known: list[Any]) -> None:
    known.append(client.dockets.create(**DOCKET, external_id="crm-0"))


def create_once(client: VoiceClient, known: list[Any]) -> None:
    known.append(client.dockets.create(**DOCKET, external_id="crm-0", once="crm-0"))


def create_after_a_refusal(client: VoiceClient, known: list[Any]) -> None:
    with contextlib.suppress(RequestError):
        client.dockets.create(**DOCKET, external_id="crm-0", account="unknown")
    create(client, known)


def create_many(client: VoiceClient, known: list[Any]) -> None:
    known += client.dockets.create_many(REQUESTS, timeout=60)


def create_each(client: VoiceClient, known: list[Any]) -> None:
    for result in client.dockets.create_each(iter(REQUESTS), timeout=60):
        known.append(result.outcome)


def create_each_and_leave(client: VoiceClient, known: list[Any]) -> None:
    with client.dockets.create_each(iter(REQUESTS), timeout=60) as batch:
        known.append(next(batch).outcome)
    known += [result.outcome for result in batch.results]


def answered(request: Request) -> Answer:
    number = int(request.json["external_id"].removeprefix("crm-"))
    made = {"docket_id": f"{number:08}-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "OPEN"}
    return Answer(body=made)


@pytest.mark.parametrize(
    "program",
    [
        create_once,
        create_after_a_refusal,
        create_many,
        create_each,
        create_each_and_leave,
    ],
)
def test_ctrl_c_at_any_instruction_loses_no_docket(
    program: Program, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    number = sys.version_info.minor % STRIDE
    while True:
        service = ScriptedService(answered)
        client = service.client(ledger=tmp_path / f"{number}.db")
        caplog.clear()
        has_ended = False
        known: list[Any] = []
        try:
            sys.settrace(Interrupt(number))
            program(client, known)
            has_ended = True
        except KeyboardInterrupt as interrupted:
            sys.settrace(None)
            outcome = outcome_of(interrupted)
            known += outcome if isinstance(outcome, list) else [outcome]
        finally:
            sys.settrace(None)
        settle(client)
        reported = " ".join([*map(shown, known), *caplog.messages])
        for request in service.requests:
            external_id = request.json["external_id"]
            identifier = json.loads(answered(request)._content())["docket_id"]
            is_unknown = any(f"'{external_id}'" in line for line in caplog.messages)
            assert identifier in reported or is_unknown, f"{number}: {identifier}: {reported}"
        if program is create_once:
            assert client.ledger is not None
            entry = client.ledger.get("crm-0")
            was_sent = {LedgerState.DONE, LedgerState.UNKNOWN}
            states = was_sent if service.requests else {None, LedgerState.FREE}
            assert (entry and entry.state) in states, number
            client.close()
        if has_ended:
            break
        number += STRIDE
    assert number > 100


def shown(outcome: Any) -> str:
    return str(getattr(outcome, "outcome", outcome))
