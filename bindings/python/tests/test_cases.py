"""The table of cases, which clients in all languages play against the same judge: here both clients
of this package. The ledger of the one for coroutines is a storage of the user's."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import programs
import pytest
from conftest import drivers, outcome_on
from test_storage import Table

from voice_calling import (
    AgentText,
    AsyncVoiceClient,
    BatchResult,
    Completed,
    Confirmed,
    Contradicted,
    DocketRequest,
    NotACompletion,
    Pending,
    RequestError,
    VoiceClient,
    _types,
)
from voice_calling._values import Record, ServiceStatus, snake

OUTCOMES = (Completed, Confirmed, Contradicted, NotACompletion, Pending)

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


@drivers
def test_all_cases_of_the_table_end_as_they_must(
    driver: str, judge: str, caplog: pytest.LogCaptureFixture
) -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    run = f"{judge}/runs/python-{version}-{driver}-{uuid.uuid4().hex[:8]}"
    cases = ask(run)
    assert cases
    with ThreadPoolExecutor(8) as players:
        others = [case for case in cases if "program" not in case]
        judged = list(players.map(lambda case: play(driver, run, case), others))
    # Ctrl-C is the main thread's.
    with_programs = [case for case in cases if "program" in case]
    judged += [play_program(driver, run, case, caplog) for case in with_programs]
    differences = {name: found for name, found in judged if found}
    assert not differences, json.dumps(differences, indent=2, ensure_ascii=False)
    summary = ask(f"{run}/summary")
    assert summary["failed"] == []
    assert summary["unsupported"] == []
    assert summary["not_judged"] == []
    assert summary["judged"] == len(cases)


def ask(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def play(driver: str, run: str, case: dict[str, Any]) -> tuple[str, list[str]]:
    """Plays a case, and returns its name and what differs."""
    options: dict[str, Any] = {"environ": case["settings"]}
    with tempfile.TemporaryDirectory() as folder:
        if "once" in case:
            options["ledger"] = Table() if driver == "asyncio" else os.path.join(folder, "calls.db")
            for arguments in case["once"]["earlier"]:
                outcome_of_call(driver, options, {**case, "arguments": arguments})
        outcome = outcome_of_call(driver, options, case)
    judged = ask(f"{run}/cases/{case['id']}/outcome", outcome)
    return case["name"], judged["differences"]


def outcome_of_call(driver: str, options: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """Returns what the call of a case ends in, by a client of its own."""
    operation, arguments = case["operation"], case["arguments"]
    if "once" in case:
        arguments = {**arguments, "once": case["once"]["key"]}
    ended = outcome_on(driver, lambda client: call(client, operation, arguments), **options)
    return outcome_as_machine(ended, operation)


def play_program(
    driver: str, run: str, case: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> tuple[str, list[str]]:
    """The same for a case whose fault is the program's own."""
    operation = case["operation"]

    def calls(of: Any) -> Any:
        return call(of, operation, case["arguments"])

    client = VoiceClient if driver == "threads" else AsyncVoiceClient
    outcome, log = programs.play(client, case, calls, caplog)
    if isinstance(outcome, list) and any(isinstance(it, BatchResult) for it in outcome):
        known = {result.index: result.outcome for result in outcome}
        outcome = [known.get(index) for index in range(len(case["arguments"]["requests"]))]
    machine = outcome_as_machine(outcome, operation)
    judged = ask(f"{run}/cases/{case['id']}/outcome", {**machine, "log": log})
    return case["name"] + " " + case["program"]["at"], judged["differences"]


def call(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
    """Calls a method of a client, or this one."""
    method = client
    if not callable(client):
        group, name = METHODS[operation].split(".")
        method = getattr(getattr(client, group), name)
    given = dict(arguments)
    for record in ["config", "request", "wait"]:
        given.update(given.pop(record, None) or {})
    if (milliseconds := given.pop("timeout_ms", None)) is not None:
        given["timeout"] = milliseconds / 1000
    options = given.pop("options", None) or {}
    if (milliseconds := options.pop("deadline_ms", None)) is not None:
        given[deadline_of(operation)] = milliseconds / 1000
    if (attempts := options.pop("max_attempts", None)) is not None:
        given["max_retries"] = attempts - 1
    given.update(options)
    for text in ["prompt", "welcome_text"]:
        if given.get(text) is not None:
            given[text] = AgentText(**given[text])
    if "requests" in given:
        given["requests"] = [DocketRequest(**request) for request in given["requests"]]
    return method(**given)


def deadline_of(operation: str) -> str:
    """What the method calls the deadline."""
    if "wait-for" in operation:
        return "poll_timeout"
    return "item_timeout" if operation.startswith("bulk") else "timeout"


def outcome_as_machine(outcome: Any, operation: str) -> dict[str, Any]:
    """What the machine ended in, from what the package made of it."""
    if isinstance(outcome, RequestError):
        return {"error": error_as_machine(outcome, operation)}
    return {"value": as_machine(outcome, operation)}


def as_machine(value: Any, operation: str) -> Any:
    if isinstance(value, RequestError):
        return {"error": error_as_machine(value, operation)}
    if isinstance(value, ServiceStatus):
        return value.name.lower() if value.is_known else {"other": str(value)}
    if isinstance(value, list):
        items = [as_machine(item, operation) for item in value]
        return [item if item is None or "error" in item else {"ok": item} for item in items]
    if isinstance(value, tuple):
        return [as_machine(item, operation) for item in value]
    if isinstance(value, Record):
        return record_as_machine(value, operation)
    if isinstance(value, OUTCOMES):
        case = snake(type(value).__name__)
        if isinstance(value, NotACompletion):
            return case
        return {case: as_machine(value.value, operation)}
    return value


def record_as_machine(record: Record, operation: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in record.__dataclass_fields__:  # type: ignore[attr-defined] # pyright: ignore
        member = getattr(record, name)
        if name == "from_ledger" and not member:  # which only packages have
            continue
        if name == "retry_after" and member is not None:
            member = round(member * 1000)
        made[_types.RENAMED.get(name, name)] = as_machine(member, operation)
    return made


def error_as_machine(error: RequestError, operation: str) -> dict[str, Any]:
    failure = {name: as_machine(value, operation) for name, value in vars(error).items()}
    if error.problem is not None:
        failure["problem"] = problem_as_machine(failure["problem"], operation)
    return {"kind": error.kind, **failure}


def problem_as_machine(problem: dict[str, str], operation: str) -> dict[str, str]:
    first, dot, rest = problem["subject"].partition(".")
    subject = first.replace("_", "-") + dot + rest
    if first.startswith("VOICE_CALLING_") or first == "body":
        subject = problem["subject"]
    elif first == "max_retries":
        found = str(int(problem["found"]) + 1)
        return {"subject": "options.max-attempts", "found": found, "allowed": "1 to 100"}
    elif first == deadline_of(operation):
        return in_milliseconds(problem, "options.deadline-ms")
    elif first == "timeout":
        return in_milliseconds(
            problem, "wait.timeout-ms" if "wait-for" in operation else "timeout-ms"
        )
    elif first == "account":
        subject = "options.account"
    return {**problem, "subject": subject}


def in_milliseconds(problem: dict[str, str], subject: str) -> dict[str, str]:
    """What the package reports in seconds."""
    numbers = re.findall(r"[\d.]+", problem["found"] + " " + problem["allowed"])
    found, least, most = (str(round(float(it) * 1000)) for it in numbers)
    return {"subject": subject, "found": found, "allowed": f"{least} to {most} milliseconds"}
