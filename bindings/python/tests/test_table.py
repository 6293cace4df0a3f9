"""The table of cases, as far as it is about what is the package's own: arguments, results, errors,
options, the ledger, and ids in the log of a program that is interrupted."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import json
import os
import signal
import socket
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import PATIENCE_S, Peer, harness, started

import voice_calling as vc
from voice_calling import _methods, _native

BATCH = "bulk.create-dockets-v2"
HELD = "request-begun", "head", "body"
"""The steps at which the answer to the first request is held."""
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


def test_each_create_of_a_program_that_is_ended_is_accounted_for(judge: str) -> None:
    run = f"{judge}/runs/python-{sys.version_info[1]}-programs"
    tasks = [it for it in asked(run) if it.get("edge") and "program" in it]
    with ThreadPoolExecutor(4) as threads:
        for task, outcome in zip(tasks, threads.map(ended, tasks), strict=True):
            asked(f"{run}/cases/{task['id']}/outcome", outcome)
    summary = asked(f"{run}/summary")
    assert summary["failed"] == []
    assert summary["judged"] > 20
    assert len(summary["unsupported"]) == 4


class Relay(Peer):
    """A relay to the service of a case, which holds the answer to the first request at a step; at
    its end, those to all others. So no program is ended while a result is returned to it, which
    Python would lose."""

    def __init__(self, task: dict[str, Any]) -> None:
        service = urlsplit(task["settings"]["VOICE_CALLING_BASE_URL"])
        self._service = (service.hostname or "", service.port or 0)
        self._at = task["program"]["at"]
        self._is_first = threading.Lock()
        self.is_held, self.released = threading.Event(), threading.Event()
        super().__init__(lambda _, connection: self._relay(connection))
        url = service._replace(netloc=urlsplit(self.url).netloc).geturl()
        self._environ = {**task["settings"], "VOICE_CALLING_BASE_URL": url}

    def environ(self) -> dict[str, str]:
        return self._environ

    def _relay(self, connection: socket.socket) -> None:
        with socket.create_connection(self._service) as service:
            service.sendall(self.read_request(connection))
            answer = b"".join(iter(lambda: service.recv(65536), b""))
        head = answer.index(b"\r\n\r\n") + 4
        steps = {"request-begun": 0, "head": head, "body": (head + len(answer)) // 2}
        held = 0 if self._at == "end" else len(answer)
        if self._is_first.acquire(blocking=False):
            held = steps.get(self._at, len(answer))
        with contextlib.suppress(OSError):  # the program may be gone
            connection.sendall(answer[:held])
        if held < len(answer):
            self.is_held.set()
            self.released.wait(PATIENCE_S)
            connection.sendall(answer[held:])


def ended(task: dict[str, Any]) -> dict[str, Any]:
    """Ends a program at a step of its first request, and returns what a user has seen."""
    does, at = task["program"]["does"], task["program"]["at"]
    if (task["operation"] != BATCH and at == "result") or (does, at) == ("close", "end"):
        return {"unsupported": "an answer that is there is returned at once"}
    code = f"""
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_table import run_program
        run_program({task!r})
    """
    with contextlib.closing(Relay(task)) as relay, started(relay, code) as process:
        if at in HELD:
            assert relay.is_held.wait(PATIENCE_S)
            if task["operation"] == BATCH:
                assert process.stdout is not None
                assert process.stdout.readline() == "all but one are read\n"
            if does == "interrupt":
                process.send_signal(signal.SIGINT)
        out, err = process.communicate("go on\n", timeout=PATIENCE_S)
        relay.released.set()
    assert process.returncode == 0, err
    return {"value": json.loads(out), "log": err.splitlines()}


def run_program(task: dict[str, Any]) -> None:
    """Is the program of a case, which prints what it has when it ends."""
    does, at = task["program"]["does"], task["program"]["at"]
    arguments, operation = task["arguments"], task["operation"]
    held: Any = [None] * len(arguments["requests"]) if operation == BATCH else None

    is_first = threading.Lock()

    def interrupt(*_: object) -> None:
        if is_first.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)

    def hook(_: vc.OutgoingAttempt) -> Callable[[object], None] | None:
        if does == "interrupt" and at == "before-request":
            interrupt()
        return interrupt if does == "interrupt" and at == "end" else None

    def call() -> None:
        nonlocal held
        if operation != BATCH:
            held = reported(method(client, operation, arguments, {}), operation)
            return
        with method(client, operation, arguments, {}) as batch:
            for result in batch:
                [held[result.index]] = reported([result], operation)
                if at in HELD and held.count(None) == 1:
                    print("all but one are read", flush=True)
                if does == "leave":
                    return
                if at == "result":
                    interrupt()

    def show() -> None:
        print(json.dumps(held), flush=True)

    client = vc.VoiceClient(on_attempt=hook)
    if does == "close":
        # Once the package has ended, which is logged, no thread gets a result that is not shown.
        atexit.unregister(_native.end)
        atexit.register(show)
        atexit.register(_native.end)
        if at != "before-request":
            threading.Thread(target=call, daemon=True).start()
            sys.stdin.readline()
    else:
        with contextlib.suppress(KeyboardInterrupt):
            call()
        show()


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
            waited: dict[str, float] = {"polls": error.polls, "failed_polls": error.failed_polls}
            waited |= {"waited_ms": error.waited * 1000, "held_back_ms": error.held_back * 1000}
            outcome = {"value": {"outcome": {"pending": pending}, **waited}}
        except vc.VoiceCallingError as error:
            outcome = {"error": in_machine_form_of_error(error)}
    return outcome


def called(face: str, options: Any, operation: str, arguments: Any, key: Any) -> Any:
    """Calls an operation with a client of its own."""

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
