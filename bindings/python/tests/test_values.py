"""What users get: records, statuses, errors, deliveries, and lines of the log."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import threading
from importlib import metadata
from typing import Any

import pytest
from conftest import DOCKET, DOCKET_ID, create

import voice_calling
from voice_calling import (
    DocketRequest,
    DocketStatus,
    NotBegun,
    OutcomeUnknown,
    Rejected,
    VoiceClient,
    parse_docket_completed,
)
from voice_calling.testing import CREATED, LOST, Answer, ScriptedService


def test_a_record_has_the_exact_text_and_the_value() -> None:
    context = '{"price":0.10,"id":12345678901234567890,"s":"\\ud800"}'
    text = f'{{"docket_id":"{DOCKET_ID}","status":"PAUSED","call_context":{context},"new":1}}'
    with ScriptedService(Answer(body=text)).client() as client:
        docket = client.dockets.get(DOCKET_ID)
    assert docket.raw_json == text
    assert docket.raw["new"] == 1
    assert docket.call_context_json == context
    assert docket.call_context == {"price": 0.1, "id": 12345678901234567890, "s": "\ud800"}
    assert docket.agent_name is None
    assert docket.status is not None
    assert (docket.status.value, docket.status.is_known) == ("PAUSED", False)
    written = docket.to_dict()
    assert (written["status"], written["raw"]) == ("PAUSED", docket.raw)
    assert json.loads(docket.to_json())["attempts"][0]["status"] == 200


def test_the_results_of_a_batch_can_be_written_as_json() -> None:
    requests = [DocketRequest(**DOCKET, external_id="crm-0"), DocketRequest(**DOCKET)]
    with ScriptedService(CREATED, LOST).client(max_in_flight=1) as client:
        batch = client.dockets.create_each(requests, timeout=60)
        created, lost = [json.loads(result.to_json()) for result in batch]
    assert created["request"] == {**DOCKET, "external_id": "crm-0", "extra": None, "once": None}
    assert created["outcome"]["docket_id"] == DOCKET_ID
    assert lost["outcome"]["kind"] == "outcome-unknown"


def test_a_batch_whose_service_fails_stops_and_what_it_did_not_begin_may_be_sent_later() -> None:
    requests = [DocketRequest(**DOCKET) for _ in range(6)]
    service = ScriptedService(*[LOST] * 5)
    with service.client() as client:
        outcomes = client.dockets.create_many(requests, timeout=60)
    assert [type(it) for it in outcomes] == [OutcomeUnknown] * 5 + [NotBegun]
    last = outcomes[5]
    assert isinstance(last, NotBegun)
    assert (last.is_permanent, last.next_step) == (False, "retry-later")
    assert len(service.requests) == 5


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "1" * 5000, '{"a":1,"a":2}'])
def test_no_json_costs_the_docket_id(value: str) -> None:
    text = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","x":{value}}}'
    with ScriptedService(Answer(body=text)).client() as client:
        created = create(client)
    assert (created.docket_id, created.raw_json) == (DOCKET_ID, text)


@pytest.mark.parametrize(
    ("text", "is_known", "shown"),
    [
        ("IN_PROGRESS", True, "DocketStatus.IN_PROGRESS"),
        ("PAUSED", False, "DocketStatus('PAUSED')"),
    ],
)
def test_a_status_is_text_and_one_that_is_new_is_kept(
    text: str, is_known: bool, shown: str
) -> None:
    status = DocketStatus(text)
    assert status == DocketStatus(text) == text
    assert status != DocketStatus.OPEN
    assert status in {DocketStatus(text)}
    assert (str(status), f"{status:>12}", repr(status)) == (text, f"{text:>12}", shown)
    assert (text in DocketStatus.__members__) == is_known
    for kept in [status, pickle.loads(pickle.dumps(status)), copy.deepcopy(status)]:
        assert (kept, kept.is_known) == (text, is_known)


def test_an_error_can_be_pickled_copied_and_written_as_json() -> None:
    answer = Answer(409, "twice", {"x-request-id": "r-1", "retry-after": "7"})
    with ScriptedService(answer).client() as client, pytest.raises(Rejected) as raised:
        create(client)
    error = raised.value
    for kept in [pickle.loads(pickle.dumps(error)), copy.copy(error)]:
        assert type(kept) is Rejected
        assert (str(kept), vars(kept)) == (str(error), vars(error))
    assert (error.may_have_created, error.response.retry_after) == (True, 7.0)
    written = json.loads(json.dumps(error.to_dict()))
    assert (written["kind"], written["next_step"]) == ("rejected", "unknown")
    assert written["may_have_created"]
    assert written["response"]["request_id"] == "r-1"
    assert written["attempts"][0]["status"] == 409


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, bytes.decode])
def test_a_delivery_may_be_text_or_bytes_of_any_kind(kind: Any) -> None:
    body = f'{{"docket_id": "{DOCKET_ID}", "dashboard_url": "é"}}'.encode()
    assert parse_docket_completed(kind(body)).dashboard_url == "é"  # type: ignore[union-attr]
    with VoiceClient(environ={}) as client:  # bytes that are not UTF-8 are replaced
        completed = client.webhooks.parse(body.replace("é".encode(), b"\xff"))
    assert completed is not None
    assert completed.dashboard_url == "\N{REPLACEMENT CHARACTER}"


# ------------------------------------------------------------------------------------- the log


def test_each_attempt_is_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "voice_calling")
    # A variable that is for components does not silence it.
    environ = {"VOICE_CALLING_LOG": "off"}
    with ScriptedService(Answer(503), CREATED).client(environ=environ) as client:
        create(client, call_context={"secret": 1})
    first, second = [it for it in caplog.records if it.name == "voice_calling"]
    assert (first.levelno, second.levelno) == (logging.INFO, logging.DEBUG)
    assert first.getMessage().startswith(
        "dockets.create-docket-v2: attempt 1, POST /api/v2/dockets: 503 after "
    )
    details: Any = vars(second)["voice_calling"]
    assert (details["attempt"], details["status"]) == (2, 200)
    for secret in ["test-token", "919876543210", "secret"]:
        assert secret not in caplog.text


def test_each_created_id_is_logged_with_what_its_caller_knows_the_request_by(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "voice_calling.created")
    requests = [DocketRequest(**DOCKET, external_id=it) for it in ["crm-0", None]]
    with ScriptedService().client() as client:
        create(client, external_id="crm-7")
        client.dockets.create_many(requests, timeout=60)
    assert sorted(caplog.messages) == [
        f"docket_id {DOCKET_ID} was created (external_id 'crm-7')",
        f"docket_id {DOCKET_ID} was created (request 0 of the batch, external_id 'crm-0')",
        f"docket_id {DOCKET_ID} was created (request 1 of the batch)",
    ]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_handler_that_fails_ends_neither_the_call_nor_the_process(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    error: type[BaseException],
) -> None:
    class Failing(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise error("no space left")

    logger = logging.getLogger("voice_calling")
    caplog.set_level(logging.DEBUG, logger.name)
    monkeypatch.setattr(logger, "handlers", [Failing()])
    service = ScriptedService()
    with service.client() as client:
        for _ in range(2):
            create(client)
    assert len(service.requests) == 2
    printed = capfd.readouterr().err
    assert "no space left" in printed
    assert "ctypes" not in printed


def test_a_handler_that_calls_its_client_is_refused_and_does_not_hang(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: list[Any] = []

    class Calling(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            try:
                create(client)
            except RuntimeError as error:
                outcomes.append(str(error))
            return True

    caplog.set_level(logging.INFO, "voice_calling.created")
    monkeypatch.setattr(logging.getLogger("voice_calling.created"), "handlers", [Calling()])
    with ScriptedService().client() as client:
        caller = threading.Thread(target=lambda: outcomes.append(create(client)), daemon=True)
        caller.start()
        caller.join(10)
    refused, created = outcomes
    assert refused == "a handler of the log cannot call the client, which waits for it"
    assert created.docket_id == DOCKET_ID


def test_the_version_is_that_of_the_package() -> None:
    assert metadata.version("voice-calling") == voice_calling.__version__
