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
from voice_calling._schema import Function, Record, Variant
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
    "webhooks.parse-docket-completed": "webhooks.parse",
    "webhooks.verify-docket-completed": "webhooks.verify",
}

KINDS = list(vars(_interface).values())
RECORDS = {kind.made: kind for kind in KINDS if isinstance(kind, Record)}
VARIANTS = {
    made: case
    for kind in KINDS
    if isinstance(kind, Variant)
    for case, (made, _) in kind.cases.items()
}


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
            operation = case["operation"]
            outcome = {"value": as_component(call(client, operation, case["arguments"]), operation)}
        except RequestError as error:
            outcome = {"error": error_as_component(error, case["operation"])}
    judged = ask(f"/runs/{run}/cases/{case['id']}/outcome", outcome)
    return case["name"], judged["differences"]


def call(client: VoiceClient, operation: str, arguments: dict[str, Any]) -> Any:
    group, name = METHODS[operation].split(".")
    method = getattr(getattr(client, group), name)
    given = dict(arguments)
    for record in ["config", "request", "wait", "options"]:
        given.update(given.pop(record, None) or {})
    for time in ["timeout", "deadline"]:
        milliseconds = given.pop(f"{time}_ms", None)
        if milliseconds is not None:
            given[time] = milliseconds / 1000
    for text in ["prompt", "welcome_text"]:
        if given.get(text) is not None:
            given[text] = AgentText(**given[text])
    if "requests" in given:
        given["requests"] = [DocketRequest(**request) for request in given["requests"]]
    return method(**given)


def as_component(value: Any, operation: str) -> Any:
    """What the component returned, from what the package made of it."""
    if isinstance(value, RequestError):
        return {"error": error_as_component(value, operation)}
    if isinstance(value, ServiceStatus):
        return value.name.lower() if value.is_known else {"other": str(value)}
    if isinstance(value, list):
        items = [as_component(item, operation) for item in value]
        return [item if "error" in item else {"ok": item} for item in items]
    if isinstance(value, tuple):
        return [as_component(item, operation) for item in value]
    if type(value) in VARIANTS:
        case = snake(VARIANTS[type(value)])
        if not hasattr(value, "value"):
            return case
        return {case: as_component(value.value, operation)}
    record = RECORDS.get(type(value))
    if record is None:
        return value
    made: dict[str, Any] = {}
    for field in record.fields:
        member = getattr(value, field.name)
        if field.name == "retry_after" and member is not None:
            member = round(member * 1000)
        made[snake(field.wit)] = as_component(member, operation)
    return made


def error_as_component(error: RequestError, operation: str) -> dict[str, Any] | str:
    failure = {name: as_component(value, operation) for name, value in vars(error).items()}
    if error.problem is not None:
        failure["problem"]["subject"] = as_written_in_wit(error.problem.subject, operation)
    return {snake(error.kind): failure}


def as_written_in_wit(path: str, operation: str) -> str:
    functions: tuple[Function[Any], ...] = _interface.FUNCTIONS
    function = next(f for f in functions if f"{f.interface}.{f.name}" == operation)
    first, dot, rest = path.partition(".")
    if first in ("prompt", "welcome_text"):
        rest = rest.replace("_", "-", 1)
    for parameter in function.parameters:
        record = parameter.kind.record()
        for field in (parameter, *(record.fields if record else ())):
            if field.name == first:
                prefix = f"{parameter.wit}." if parameter.wit in ("wait", "options") else ""
                return prefix + field.wit + dot + rest
    return path


def snake(name: str) -> str:
    return name.replace("-", "_")
