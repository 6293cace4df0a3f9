"""What users get: records, statuses, errors."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys

import pytest
from conftest import DOCKET_ID, TOKEN, Answer, Serve, Service

import voice_calling
from voice_calling import (
    Attempt,
    DocketStatus,
    Unauthorized,
    Unreachable,
    VoiceClient,
)


def test_a_record_has_the_exact_text_and_the_value(serve: Serve) -> None:
    context = '{"price":0.10,"id":12345678901234567890,"s":"\\ud800"}'
    text = f'{{"docket_id":"{DOCKET_ID}","call_context":{context},"new":1}}'
    service = serve(Answer(200, text))
    with VoiceClient(environ=service.environ()) as client:
        docket = client.dockets.get(DOCKET_ID)
    assert docket.raw_json == text
    assert docket.raw["new"] == 1
    assert docket.call_context_json == context
    assert docket.call_context == {"price": 0.1, "id": 12345678901234567890, "s": "\ud800"}
    assert docket.agent_name is None


@pytest.mark.parametrize(
    ("name", "json"),
    [
        ("deep nesting", "[" * 5000 + "]" * 5000),
        ("an integer of 5000 digits", "1" * 5000),
        ("duplicate keys", '{"a":1,"a":2}'),
    ],
)
def test_no_json_costs_the_docket_id(serve: Serve, name: str, json: str) -> None:
    text = f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","x":{json}}}'
    service = serve(Answer(200, text))
    with VoiceClient(environ=service.environ()) as client:
        created = client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert created.docket_id == DOCKET_ID
    assert created.raw_json == text


def test_records_do_not_change_and_take_no_unknown_fields() -> None:
    attempt = Attempt(status=200, started_ms=0, duration_ms=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        attempt.status = 201  # type: ignore[misc] # pyright: ignore
    with pytest.raises(TypeError):
        Attempt(state=200, started_ms=0, duration_ms=1)  # type: ignore[call-arg] # pyright: ignore
    assert not hasattr(attempt, "__dict__")


def test_a_known_status_is_itself() -> None:
    status = DocketStatus("IN_PROGRESS")
    assert status is DocketStatus.IN_PROGRESS
    assert status.is_known
    assert status == "IN_PROGRESS"
    assert (str(status), f"{status}", f"{status:>12}") == (
        "IN_PROGRESS",
        "IN_PROGRESS",
        " IN_PROGRESS",
    )
    assert repr(status) == "DocketStatus.IN_PROGRESS"


def test_an_unknown_status_is_kept_as_it_came() -> None:
    status = DocketStatus("PAUSED")
    assert isinstance(status, DocketStatus)
    assert not status.is_known
    assert status == DocketStatus("PAUSED") == "PAUSED"
    assert status != DocketStatus.OPEN
    assert DocketStatus("PAUSED") in {status}
    assert (str(status), f"{status}", repr(status)) == (
        "PAUSED",
        "PAUSED",
        "DocketStatus('PAUSED')",
    )
    assert "PAUSED" not in DocketStatus.__members__
    for kept in [pickle.loads(pickle.dumps(status)), copy.deepcopy(status)]:
        assert kept == status
        assert not kept.is_known
    with pytest.raises(ValueError, match="3 is not a valid DocketStatus"):
        DocketStatus(3)


def test_a_status_that_is_new_comes_from_the_service(serve: Serve) -> None:
    service = serve(Answer(200, {"docket_id": DOCKET_ID, "status": "PAUSED"}))
    with VoiceClient(environ=service.environ()) as client:
        status = client.dockets.get(DOCKET_ID).status
    assert status is not None
    assert (status.value, status.is_known) == ("PAUSED", False)


def test_nobody_listening_is_unreachable(service: Service) -> None:
    service.close()
    with VoiceClient(environ=service.environ(), max_attempts=2) as client:
        with pytest.raises(Unreachable) as raised:
            client.dockets.get(DOCKET_ID)
    assert len(raised.value.attempts) == 2
    assert raised.value.attempts[0].transport_error is not None


def test_the_token_is_in_nothing_that_is_shown(serve: Serve) -> None:
    service = serve(Answer(401, f"no such token: {TOKEN}"))
    client = VoiceClient(environ={}, base_url=service.url, token=TOKEN)
    with client, pytest.raises(Unauthorized) as raised:
        client.agents.list("org-1")
    shown = [repr(client), str(client), repr(raised.value), repr(vars(raised.value))]
    shown += [repr(vars(client)), repr(vars(client._driver)), repr(vars(client._driver._machine))]
    assert not any(TOKEN in text for text in shown)
    for secret in [client, client._driver._machine._settings]:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(secret)


def test_everything_that_is_public_is_documented() -> None:
    assert sorted(set(voice_calling.__all__)) == sorted(voice_calling.__all__)
    aliases = {"Json", "CallDetailsOutcome", "DocketOutcome", "Verification"}
    for name in voice_calling.__all__:
        if name not in aliases:
            assert getattr(voice_calling, name).__doc__, name


def test_the_version_is_that_of_the_package() -> None:
    from importlib import metadata

    assert metadata.version("voice-calling") == voice_calling.__version__
    assert sys.version_info >= (3, 10)
