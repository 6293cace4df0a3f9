"""The table of cases, which clients in all languages play against the same judge."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from voice_calling import AgentText, DocketRequest, RequestError, VoiceClient, _interface
from voice_calling._schema import Optional, Record
from voice_calling._status import ServiceStatus

JUDGE = os.environ.get("VOICE_CALLING_CASES")

METHODS = {
    "agents.create-agent": "agents.create",
    "agents.list-agents": "agents.list",
    "calls.make-call": "calls.make",
    "calls.get-call-details": "calls.get_details",
    "calls.wait-for-call-details": "calls.wait_for_details",
    "dockets.create-docket": "dockets.create_v1",
    "dockets.create-docket-v2": "dockets.create",
    "dockets.get-docket": "dockets.get",
    "dockets.wait-for-docket": "dockets.wait_for",
    "bulk.create-dockets-v2": "dockets.create_many",
    "webhooks.parse-docket-completed": "webhooks.parse_docket_completed",
}

RECORDS = {kind.made: kind for kind in vars(_interface).values() if isinstance(kind, Record)}


def test_all_cases_of_the_table_end_as_they_must() -> None:
    if JUDGE is None:
        pytest.fail(
            "VOICE_CALLING_CASES has to be the base URL of the judge: `host-test cases` prints it "
            "(`cargo xtask bindings test` starts one)"
        )
    run = f"python-{sys.version_info[0]}.{sys.version_info[1]}-{uuid.uuid4().hex[:8]}"
    cases = ask(f"/runs/{run}")
    assert cases
    with ThreadPoolExecutor(8) as players:
        judged = players.map(lambda case: play(run, case), cases)
        differences = {name: found for name, found in judged if found}
    assert not differences, json.dumps(differences, indent=2, ensure_ascii=False)
    summary = ask(f"/runs/{run}/summary")
    assert summary["failed"] == []
    assert summary["not_judged"] == []
    assert summary["judged"] == len(cases)


def ask(path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{JUDGE}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def play(run: str, case: dict[str, Any]) -> tuple[str, list[str]]:
    """Plays a case, and returns its name and what differs."""
    outcome: dict[str, Any]
    with VoiceClient(environ=case["settings"]) as client:
        try:
            outcome = {"value": as_component(call(client, case["operation"], case["arguments"]))}
        except RequestError as error:
            outcome = {"error": error_as_component(error, case["operation"])}
    judged = ask(f"/runs/{run}/cases/{case['id']}/outcome", outcome)
    return case["name"], judged["differences"]


def call(client: VoiceClient, operation: str, arguments: dict[str, Any]) -> Any:
    group, name = METHODS[operation].split(".")
    method = getattr(getattr(client, group), name)
    given = dict(arguments)
    options = given.pop("options", None)
    if options is not None:
        given.update(options)
    if "timeout_ms" in given:
        given["timeout"] = given.pop("timeout_ms") / 1000
    for text in ["prompt", "welcome_text"]:
        if given.get(text) is not None:
            given[text] = AgentText(**given[text])
    if "requests" in given:
        given["requests"] = [DocketRequest(**request) for request in given["requests"]]
    if isinstance(given.get("body"), list):
        given["body"] = bytes(given["body"])
    return method(**given)


def as_component(value: Any) -> Any:
    """What the component returned, from what the package made of it."""
    if isinstance(value, RequestError):
        return {"error": error_as_component(value, "bulk.create-dockets-v2")}
    if isinstance(value, ServiceStatus):
        return value.name.lower() if value.is_known else {"other": str(value)}
    if isinstance(value, (list, tuple)):
        return [item_as_component(item) for item in value]
    record = RECORDS.get(type(value))
    if record is not None:
        return {
            snake(field.wit): as_component(getattr(value, field.name)) for field in record.fields
        }
    return value


def item_as_component(item: Any) -> Any:
    made = as_component(item)
    is_of_batch = type(item).__name__ == "CreatedDocket"
    return {"ok": made} if is_of_batch else made


def error_as_component(error: RequestError, operation: str) -> dict[str, Any] | str:
    _, kind = _interface.REQUEST_ERROR.cases[error.kind]
    name = snake(error.kind)
    if kind is None:
        return name
    payload = payload_of(error, kind)
    if "field" in payload:
        payload["field"] = as_written_in_wit(payload["field"], operation)
    return {name: payload}


def payload_of(error: RequestError, kind: Any) -> dict[str, Any]:
    if isinstance(kind, Optional):
        kind = kind.inner
    payload: dict[str, Any] = {}
    for field in kind.fields:
        name = snake(field.wit)
        if name == "response":
            has_answer = error.status is not None
            payload[name] = payload_of(error, field.kind) if has_answer else None
        elif name == "retry_after_ms":
            after = error.retry_after  # a float, so the longest of all is rounded up
            payload[name] = None if after is None else min(round(after * 1000), 2**64 - 1)
        else:
            payload[name] = as_component(getattr(error, name))
    return payload


def as_written_in_wit(path: str, operation: str) -> str:
    function = next(f for f in _interface.FUNCTIONS if f"{f.interface}.{f.name}" == operation)
    if path == "timeout":
        return "options.timeout-ms" if "wait" in operation else "timeout-ms"
    first, dot, rest = path.partition(".")
    if first in ("prompt", "welcome_text"):
        rest = rest.replace("_", "-", 1)
    known = {field.name: field.wit for field in function._written.values()}
    return known.get(first, first) + dot + rest


def snake(name: str) -> str:
    return name.replace("-", "_")
