"""Deliveries: read, and compared with what the service says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import DOCKET_ID, Answer, Serve

from voice_calling import (
    Confirmed,
    Contradicted,
    InvalidInput,
    NotACompletion,
    NotFound,
    VoiceClient,
    parse_docket_completed,
)

DELIVERY: dict[str, Any] = {
    "docket_id": DOCKET_ID,
    "call_insights": {"call_disposition": "INTERESTED"},
    "call_context": {"reference": "crm-1"},
    "attempts": [{"n": 1}],
}
DOCKET: dict[str, Any] = {
    "docket_id": DOCKET_ID,
    "status": "COMPLETED",
    "call_context": {"reference": "crm-1"},
}


def test_a_delivery_may_be_text_or_bytes_of_any_kind() -> None:
    text = f'{{"docket_id": "{DOCKET_ID}", "dashboard_url": "é"}}'
    body = text.encode()
    bodies: list[str | bytes | bytearray | memoryview]
    bodies = [text, body, bytearray(body), memoryview(body)]
    with VoiceClient(environ={}) as client:
        for given in bodies:
            for parse in [client.webhooks.parse, parse_docket_completed]:
                completed = parse(given)
                assert completed is not None
                assert (completed.docket_id, completed.dashboard_url) == (DOCKET_ID, "é")


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    body = json.dumps(DELIVERY).encode().replace(b"INTERESTED", b"\xff")
    completed = parse_docket_completed(body)
    assert completed is not None
    assert completed.call_insights is not None
    assert completed.call_insights.call_disposition == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("body", [{"docket_id": DOCKET_ID}, None, 7, "{", b"", '"\ud800"'])
def test_what_is_no_delivery_is_refused(body: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_docket_completed(body)
    assert refused.value.problem is not None
    assert refused.value.problem.subject == "body"


def test_another_event_is_none() -> None:
    assert parse_docket_completed('{"event": "call"}') is None


def test_a_delivery_has_at_most_a_mebibyte_unless_the_settings_allow_more(serve: Serve) -> None:
    def padded(size: int) -> str:
        return json.dumps(DELIVERY).ljust(size)

    assert parse_docket_completed(padded(1_048_576)) is not None
    with pytest.raises(InvalidInput, match="body: found 1048577 bytes"):
        parse_docket_completed(padded(1_048_577))
    service = serve(Answer(200, DOCKET))
    with VoiceClient(environ=service.environ(), max_delivery_bytes=1_048_577) as client:
        assert isinstance(client.webhooks.verify(padded(1_048_577)), Confirmed)


def test_a_delivery_that_the_service_confirms(serve: Serve) -> None:
    service = serve(Answer(200, DOCKET))
    with VoiceClient(environ=service.environ()) as client:
        verification = client.webhooks.verify(json.dumps(DELIVERY).encode())
    assert isinstance(verification, Confirmed)
    assert verification.value.delivered.docket_id == verification.value.docket.docket_id
    assert verification.value.contradicted == ()
    assert verification.value.unverified == ("call_insights", "attempts")
    [request] = service.requests
    assert (request.method, request.path) == ("GET", f"/api/v1/dockets/{DOCKET_ID}")
    assert request.headers["accept"] == "application/json"


@pytest.mark.parametrize(
    ("docket", "contradicted"),
    [
        ({**DOCKET, "status": "OPEN"}, "status"),
        ({**DOCKET, "call_context": {"reference": "crm-2"}}, "call_context"),
    ],
)
def test_a_delivery_that_the_service_contradicts(
    serve: Serve, docket: dict[str, Any], contradicted: str
) -> None:
    service = serve(Answer(200, docket))
    with VoiceClient(environ=service.environ()) as client:
        verification = client.webhooks.verify(json.dumps(DELIVERY))
    assert isinstance(verification, Contradicted)
    assert contradicted in "".join(verification.value.contradicted)


def test_what_is_no_completion_needs_no_service(serve: Serve) -> None:
    service = serve()
    with VoiceClient(environ=service.environ()) as client:
        assert client.webhooks.verify('{"event": "call"}') == NotACompletion()
        with pytest.raises(InvalidInput):
            client.webhooks.verify("{")
    assert service.requests == []


def test_a_docket_that_the_service_does_not_know_is_not_found(serve: Serve) -> None:
    with VoiceClient(environ=serve(Answer(404, "")).environ()) as client:
        with pytest.raises(NotFound):
            client.webhooks.verify(json.dumps(DELIVERY))
