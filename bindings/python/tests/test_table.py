"""The table of cases, as far as it is about what is the package's own: arguments, results, errors,
options, the ledger, and ids in the log of a program that is interrupted."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import harness

import voice_calling as vc
from voice_calling import _methods

BATCH = "bulk.create-dockets-v2"
BARE = {"OPEN": "open", "IN_PROGRESS": "in_progress", "COMPLETED": "completed"}
BARE |= {"ANSWERED": "answered", "NO_ANSWER": "no_answer", "BUSY": "busy"}

STATUSES = vc.Docket, vc.CreatedDocket, vc.CreatedDocketV1, vc.CallDetails


@pytest.fixture(scope="session")
def judge() -> Iterator[str]:
    with harness("HOST_TEST", "cases", "--port", "0") as url:
        yield url


def asked(url: str, content: object = None) -> Any:
    """What the judge answers."""
    body = None if content is None else json.dumps(content).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize("face", ["threads", "asyncio"])
def test_the_package_does_what_every_case_says(judge: str, tmp_path: Path, face: str) -> None:
    run = f"{judge}/runs/python-{sys.version_info[1]}-{face}"
    for task in asked(run):
        # Errors for times name seconds here: `test_client` has them.
        is_about_milliseconds = '_ms": 0' in json.dumps(task["arguments"])
        if "program" in task or not task.get("edge") or is_about_milliseconds:
            continue
        outcome = play(task, face, tmp_path / f"{task['id']}.db")
        asked(f"{run}/cases/{task['id']}/outcome", outcome)
    summary = asked(f"{run}/summary")
    assert summary["failed"] == []
    assert summary["judged"] > 90


def play(task: dict[str, Any], face: str, ledger: Path) -> dict[str, Any]:
    """Calls the operation of a case, after the earlier ones with its key."""
    once = task.get("once", {"earlier": []})
    key = {"key": once["key"]} if "key" in once else {}
    outcome: dict[str, Any] = {}
    for arguments in [*once["earlier"], task["arguments"]]:
        try:
            if task["operation"] == "webhooks.parse-docket-completed":
                value = _methods.parse_docket_completed(arguments["body"])
            else:
                options: dict[str, Any] = {"environ": task["settings"]}
                options |= {"ledger": ledger} if key else {}
                value = called(face, options, task["operation"], arguments, key)
            outcome = {"value": reported(value, task["operation"])}
        except vc.WaitTimeoutError as error:
            pending = None if error.last is None else in_machine_form(error.last)
            waited = {"polls": error.polls, "failed_polls": error.failed_polls}
            waited |= {"waited_ms": error.waited * 1000, "held_back_ms": error.held_back * 1000}
            outcome = {"value": {"outcome": {"pending": pending}, **waited}}
        except vc.VoiceCallingError as error:
            outcome = {"error": in_machine_form_of_error(error)}
    return outcome


def called(face: str, options: Any, operation: str, arguments: Any, key: Any) -> Any:
    """Calls an operation with a client of its own."""
    import asyncio

    async def main() -> Any:
        async with vc.AsyncVoiceClient(**options) as client:
            return await method(client, operation, arguments, key)

    if face == "asyncio":
        return asyncio.run(main())
    with vc.VoiceClient(**options) as client:
        result = method(client, operation, arguments, key)
        return sorted(result, key=lambda it: it.index) if operation == BATCH else result


def method(client: Any, operation: str, arguments: dict[str, Any], key: dict[str, str]) -> Any:
    """Calls a method with the arguments of a case."""
    given = dict(arguments)
    options = seconds(given.pop("options", {}))
    timeouts = {"wait-for-call-details", "wait-for-docket", "create-dockets-v2"}
    name = operation.partition(".")[2]
    if name in timeouts and "timeout" in options:
        options["item_timeout" if operation == BATCH else "poll_timeout"] = options.pop("timeout")
    options |= key
    record = given.get("request", given.get("config", given))
    if operation == "agents.create-agent":
        texts = {it: agent_text(record.get(it)) for it in ("prompt", "welcome_text")}
        return client.agents.create(**{**record, **texts}, **options)
    if operation == "calls.make-call":
        return client.calls.make(**record, **options)
    if name.startswith("create-docket") and operation != BATCH:
        create = client.dockets.create if name.endswith("v2") else client.dockets.create_v1
        return create(**record, **options)
    if operation == BATCH:
        requests = [vc.DocketRequest(**it) for it in given["requests"]]
        timeout = given["timeout_ms"] / 1000
        return client.dockets.create_each(requests, timeout=timeout, **options)
    if operation == "webhooks.verify-docket-completed":
        return client.webhooks.verify(given["body"], **options)
    wait = seconds(given.pop("wait", {}))
    [argument] = given.values()
    group = client.agents if operation.startswith("agents") else client.calls
    group = client.dockets if operation.startswith("dockets") else group
    verb = {"list-agents": "list", "get-call-details": "get_details", "get-docket": "get"}
    return getattr(group, verb.get(name, "wait"))(argument, **wait, **options)


def seconds(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a case as a method takes them."""
    taken = dict(options or {})
    for name in ("deadline_ms", "timeout_ms"):
        if taken.get(name) is not None:
            taken["timeout"] = taken.pop(name) / 1000
    if taken.get("max_attempts") is not None:
        taken["max_retries"] = taken.pop("max_attempts") - 1
    return {name: value for name, value in taken.items() if value is not None}


def agent_text(text: dict[str, Any] | None) -> vc.AgentText | None:
    return None if text is None else vc.AgentText(**text)


def reported(value: Any, operation: str) -> Any:
    """A result as the judge takes it."""
    if operation == BATCH:
        return [
            {"error": in_machine_form_of_error(it.error)}
            if it.error
            else {"ok": in_machine_form(it.created)}
            for it in value
        ]
    form = in_machine_form(value)
    if operation == "webhooks.verify-docket-completed":
        return "not_a_completion" if value is None else {type(value).__name__.lower(): form}
    return form


def in_machine_form(value: Any) -> Any:
    """A record, with the names of the table."""
    if dataclasses.is_dataclass(value):
        fields = {it.name: getattr(value, it.name) for it in dataclasses.fields(value)}
        made = {name: in_machine_form(it) for name, it in fields.items()}
        for name in [it for it in made if it.endswith("_json") and it != "raw_json"]:
            made[name.removesuffix("_json")] = made.pop(name)
        for name in ("status", "call_status"):
            if isinstance(made.get(name), str) and isinstance(value, STATUSES):
                made[name] = BARE.get(made[name], {"other": made[name]})
        if made.get("from_ledger") is False:
            del made["from_ledger"]
        if "retry_after" in made:
            retry_after = made.pop("retry_after")
            made["retry_after_ms"] = retry_after and round(retry_after * 1000)
        return made
    return [in_machine_form(it) for it in value] if isinstance(value, tuple) else value


def in_machine_form_of_error(error: vc.VoiceCallingError) -> dict[str, Any]:
    """An error, whose problem is about an argument as the WIT names it."""
    names = {"account": "options.account", "timeout": "options.deadline_ms"}
    problem = in_machine_form(error.problem)
    if problem and not problem["subject"].startswith("VOICE_CALLING_"):
        subject, dot, member = problem["subject"].partition(".")
        problem["subject"] = names.get(subject, subject.replace("_", "-")) + dot + member
    return {
        "kind": error.kind,
        "next_step": error.next_step,
        "message": error.message,
        "problem": problem,
        "response": in_machine_form(error.response),
        "attempts": in_machine_form(error.attempts),
        "may_have_created": error.may_have_created,
    }
