"""The examples of the README and of the docstrings, on the mock service."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import readme

import voice_calling
from voice_calling import AsyncVoiceClient, VoiceClient, _methods, _running
from voice_calling._options import OPTIONS

USER_PYTHON = os.environ.get("USER_PYTHON", sys.executable)
"""A Python in which the package is installed, and what the examples import, where there is one."""

EXAMPLES = readme.examples()


@pytest.fixture(autouse=True)
def settings(mock_service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_CALLING_BASE_URL", mock_service)
    monkeypatch.setenv("VOICE_CALLING_API_TOKEN", "mock-token-0001")
    monkeypatch.setenv("VOICE_CALLING_BACKOFF_MS", "20")
    monkeypatch.setenv("VOICE_CALLING_MAX_BACKOFF_MS", "50")


def output(code: str, folder: Path) -> list[str]:
    """What a program prints, in a Python of its own, as a user runs it."""
    run = run_as_user(code, folder)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def run_as_user(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [USER_PYTHON, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environ, cwd=folder
    )


def test_a_docket_is_created_and_waited_for(tmp_path: Path) -> None:
    [kept, done] = output(EXAMPLES["A docket, from its creation to its completion"], tmp_path)
    assert re.fullmatch(r"keep this: [-0-9a-f]{36}", kept)
    assert done == "COMPLETED DISPOSITION Asha"


def test_a_batch_tells_each_outcome(tmp_path: Path) -> None:
    first, second, third = sorted(output(EXAMPLES["Many dockets"], tmp_path))
    assert re.fullmatch(r"crm-1 is docket [-0-9a-f]{36}", first)
    assert re.fullmatch(r"crm-2 is docket [-0-9a-f]{36}", second)
    assert third.startswith("crm-3 failed: to_phone_number: found")


def test_a_direct_call_has_insights(tmp_path: Path) -> None:
    code = EXAMPLES["A direct call and its insights, in coroutines"]
    [line] = output(code, tmp_path)
    assert re.fullmatch(r"ANSWERED [0-9.]+ \{.*\}", line), line


DELIVERIES = """
import json
from voice_calling import VoiceClient

with VoiceClient() as other:
    docket = other.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    other.dockets.wait_for(docket.docket_id, timeout=20)
body = '{"docket_id": "%s", "call_insights": null, "attempts": [1]}'
for content in [
    body % docket.docket_id,
    body % "11111111-2222-3333-4444-555555555555",
    '{"event": "call"}',
    "{",
]:
    print(deliver(content))
"""

FASTAPI = """
from starlette.testclient import TestClient

with TestClient(app) as web:
    deliver = lambda content: web.post("/webhook", content=content).status_code
"""

FLASK = """
deliver = lambda content: app.test_client().post("/webhook", data=content).status_code
"""


def test_a_webhook_is_verified_in_fastapi(tmp_path: Path) -> None:
    code = FASTAPI + "\n".join(f"    {line}" for line in DELIVERIES.splitlines())
    check_webhook(output(EXAMPLES["A webhook in FastAPI"] + code, tmp_path))


def test_a_webhook_is_verified_in_flask(tmp_path: Path) -> None:
    check_webhook(output(EXAMPLES["A webhook in Flask"] + FLASK + DELIVERIES, tmp_path))


def check_webhook(lines: list[str]) -> None:
    assert lines[0].startswith("COMPLETED ")
    assert [line for line in lines if line.isdigit()] == ["204", "503", "204", "400"]


def test_organizations_are_served_with_their_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = EXAMPLES["Several organizations"]
    for name in ["alpha", "beta"]:
        code = code.replace(f"token-of-{name}", "mock-token-0001")
    alpha, beta = output(code, tmp_path)
    assert re.fullmatch("alpha [1-9]", alpha)
    assert re.fullmatch("beta [1-9]", beta)


def test_an_error_is_told(tmp_path: Path) -> None:
    first, second = output(EXAMPLES["Errors"], tmp_path)
    assert first.startswith("InvalidInput: to_phone_number: found")
    assert second == "to_phone_number False"


def test_an_http_client_is_given(tmp_path: Path) -> None:
    [line] = output(EXAMPLES["Your own httpx client"], tmp_path)
    assert re.fullmatch("[1-9] agents", line)


def test_ones_own_code_is_tested(tmp_path: Path) -> None:
    lines = output(EXAMPLES["Tests of your own code"], tmp_path)
    assert lines == ["[503, 200] 20000", "Completed", "unknown: True", "4 requests"]


def test_a_call_is_cancelled(tmp_path: Path) -> None:
    [line] = output(EXAMPLES["Cancelling a call"], tmp_path)
    assert re.fullmatch(r"what is known: \w+", line)


def test_logging_is_switched_on(tmp_path: Path) -> None:
    code = EXAMPLES["Settings"] + "from voice_calling import VoiceClient\n"
    code += "create = VoiceClient().dockets.create\n"
    code += 'made = create(agent_id=7, to_phone_number="919876543210", call_context={})\n'
    code += "print(made.docket_id)\n"
    finished = run_as_user(code, tmp_path)
    created = f"INFO:voice_calling.created:docket_id {finished.stdout.strip()} was created\n"
    assert finished.stderr == created


def test_every_example_is_run() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for title in EXAMPLES:
        assert f'EXAMPLES["{title}"]' in source, title


def test_opentelemetry_sees_a_span_for_each_request_below_that_of_the_caller() -> None:
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with VoiceClient() as client:
            with provider.get_tracer("test").start_as_current_span("caller"):
                client.agents.list("org-1")
    finally:
        instrumentor.uninstrument()
    request, caller = exporter.get_finished_spans()
    assert (request.name, caller.name) == ("GET", "caller")
    assert request.parent is not None
    assert caller.context is not None
    assert request.parent.span_id == caller.context.span_id


# ---------------------------------------------------------------------------- drift


def test_the_tables_have_every_error_and_every_setting() -> None:
    text = readme.README.read_text(encoding="utf-8")
    for name in voice_calling._errors.__all__:
        if name not in ("RequestError", "ServiceError", "NoAnswerError"):
            assert f"\n| `{name}` |" in text, name
    for option in OPTIONS:
        default = {None: "required", "false": "False"}.get(option.default, option.default)
        row = re.search(rf"\n\| `{option.name}` \| `{option.variable}` \| `?(\w[^|`]*)", text)
        assert row is not None, option
        assert row[1].startswith(str(default)), option


def test_the_constructors_take_every_setting_and_say_what_it_means() -> None:
    docs = " ".join((inspect.getdoc(VoiceClient) or "").split())
    named = {field.name for field in dataclasses.fields(voice_calling.Account)}
    assert named == {option.name for option in OPTIONS}
    source = " ".join(Path(_options.__file__).read_text(encoding="utf-8").split())
    for client in [VoiceClient, AsyncVoiceClient]:
        parameters = set(inspect.signature(client).parameters)
        assert parameters == named | {"accounts", "environ", "http_client"}
    for option in OPTIONS:
        said = re.search(
            rf"- `{option.name}`: (.*?)(?: Default: ([^;]*?)[.;]?)?(?: - `|$| or `)", docs
        )
        assert said is not None, option.name
        meaning = said[1].split(" Required")[0].split(" Default")[0]
        assert meaning in source, (option.name, meaning)
        if option.default is not None:
            default = f'Default: `"{option.default}"`'
            assert default in docs or f"Default: {option.default}" in said[0], option


def test_methods_look_like_functions_to_those_who_inspect_them() -> None:
    with VoiceClient(environ={}) as client:
        create = client.dockets.create
        assert (create.__doc__ or "").startswith("Makes a phone ring")
        signature = inspect.signature(create)
        assert list(signature.parameters)[:2] == ["agent_id", "to_phone_number"]
        assert signature.return_annotation == "CreatedDocket"
    assert inspect.iscoroutinefunction(AsyncVoiceClient(environ={}).dockets.create)
    wrong: Any = create
    with pytest.raises(TypeError, match="external_identifier"):
        wrong(external_identifier="crm-1")


@pytest.mark.parametrize("module", [voice_calling, _methods, _running])
def test_examples_in_docstrings_are_right(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
