"""The examples of the README, of the recipes and of the docstrings, as users run them."""

from __future__ import annotations

import doctest
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import readme
from conftest import PATIENCE_S, Serve

import voice_calling
from voice_calling import Ledger, _methods
from voice_calling.testing import Answer

USER_PYTHON = os.environ.get("USER_PYTHON", sys.executable)
"""A Python in which the package is installed, and what the examples import, where there is one."""

EXAMPLES = readme.examples()

RECIPES = (readme.ROOT / "docs/recipes.md").read_text(encoding="utf-8")
ORGANIZATIONS, RENEWAL, TELEMETRY = re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL)


@pytest.fixture(autouse=True)
def settings(mock_service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_CALLING_BASE_URL", mock_service)
    monkeypatch.setenv("VOICE_CALLING_API_TOKEN", "mock-token-0001")
    monkeypatch.setenv("VOICE_CALLING_BACKOFF_MS", "20")
    monkeypatch.setenv("VOICE_CALLING_MAX_BACKOFF_MS", "50")


def output(code: str, folder: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """What a program prints in a Python of its own."""
    environ = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    command = [USER_PYTHON, "-c", code]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env=environ, cwd=folder
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (
            "A docket, from its creation to its completion",
            ["COMPLETED DISPOSITION Asha", "keep this: [-0-9a-f]{36}"],
        ),
        (
            "Tests of your own code",
            ["910000000000", "COMPLETED", r"\[503, 200\] 20000", "unknown: True"],
        ),
    ],
)
def test_an_example_prints_what_its_reader_expects(
    title: str, expected: list[str], tmp_path: Path
) -> None:
    lines = sorted(output(EXAMPLES[title], tmp_path))
    assert len(lines) == len(expected), lines
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line)


def test_the_front_page_places_one_call_however_often_it_is_run(tmp_path: Path) -> None:
    [first], [second] = [output(EXAMPLES["One call"], tmp_path) for _ in range(2)]
    docket_id, from_ledger = first.split()
    assert (from_ledger, second) == ("False", f"{docket_id} True")


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_a_list_is_called_once_each_although_the_program_is_killed(
    serve: Serve, tmp_path: Path, kill: int
) -> None:
    service, count, in_flight, kills = serve(), 200, 8, 3
    numbers = random.Random(7)
    rows = [f"crm-{n},9198765{n:05},Asha" for n in range(count)]
    (tmp_path / "customers.csv").write_text("\n".join(["crm_id,phone,name", *rows]))
    # Ctrl-C is ignored where a shell runs the tests in the background, and children inherit that.
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += EXAMPLES["A list of people, each called once"]
    command = [USER_PYTHON, "-c", code]
    environ = {**os.environ, **service.environ()}
    environ.pop("PYTHONPATH", None)
    for _ in range(kills):
        until = len(service.requests) + numbers.randint(1, 120 // kills)
        # However late the kill is, the program has not called all.
        service.closes_at = until + in_flight
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=pipe) as process:
            while len(service.requests) < until:
                assert process.poll() is None
                time.sleep(0.001)
            process.send_signal(kill)
            service.open_gate()
            process.communicate(timeout=PATIENCE_S)
    lines = output(command[-1], tmp_path, environ)
    rung = Counter(request.body.split("to_phone_number")[1][:20] for request in service.requests)
    assert set(rung.values()) == {1}, rung
    with Ledger(tmp_path / "calls.db") as ledger:
        entries = [ledger.get(f"renewals-2026-11/crm-{n}") for n in range(count)]
    states = Counter(entry.state for entry in entries if entry)
    # Claims of killed programs have not ended: their outcomes are unknown from then on.
    lost = states["begun"] + states["unknown"]
    assert (states.total(), states["done"]) == (count, count - lost)
    assert kill == signal.SIGINT or states["unknown"] == 0
    # A person who was not called was hit by a kill between the ledger and the service.
    assert count - len(rung) <= lost <= kills * in_flight
    assert sum("may have been called" in line for line in lines) == lost
    assert sum("is docket" in line for line in lines) == count - lost


DELIVERIES = """
import json
from voice_calling import VoiceClient

with VoiceClient() as other:
    docket = other.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    other.dockets.wait(docket.docket_id, timeout=60)
body = '{"docket_id": "%s", "call_insights": null, "attempts": [1]}'
for content in [
    body % docket.docket_id,
    body % docket.docket_id,
    body % "11111111-2222-3333-4444-555555555555",
    '{"event": "call"}',
    "{",
]:
    print(deliver(content))
"""

FASTAPI = """
from starlette.testclient import TestClient

web = TestClient(app).__enter__()
deliver = lambda content: web.post("/webhook", content=content).status_code
"""


@pytest.mark.parametrize(
    ("title", "deliver", "end", "acts"),
    [
        ("A webhook in FastAPI", FASTAPI, "web.__exit__(None, None, None)", 2),
    ],
)
def test_a_webhook_is_verified(
    title: str, deliver: str, end: str, acts: int, tmp_path: Path
) -> None:
    lines = output(EXAMPLES[title] + deliver + DELIVERIES + end, tmp_path)
    assert sum(line.startswith("COMPLETED ") for line in lines) == acts
    assert sum(line.startswith("not verified: ") for line in lines) == 1
    assert [line for line in lines if line.isdigit()] == ["204", "204", "503", "204", "400"]


def test_every_example_is_run() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for title in EXAMPLES:
        assert f'"{title}"' in source, title


# -------------------------------------------------------------------------- recipes


def test_several_organizations_have_keys_of_their_own(serve: Serve, tmp_path: Path) -> None:
    service = serve()
    environ = {**os.environ, **service.environ()}
    printed = [output(ORGANIZATIONS, tmp_path, environ) for _ in range(2)]
    assert [[line.split()[-1] for line in it] for it in printed] == [["False"] * 2, ["True"] * 2]
    tokens = [request.headers["auth_token"] for request in service.requests]
    assert tokens == ["Bearer token-of-alpha", "Bearer token-of-beta"]


def test_requests_go_through_the_proxy(serve: Serve) -> None:
    proxy = serve(Answer(200, json=[]))
    settings = {"BASE_URL": "http://service.test", "ALLOW_INSECURE_HTTP": "true"}
    with voice_calling.VoiceClient(settings=settings, proxy=proxy.url) as client:
        client.agents.list("org-1")
    [request] = proxy.requests
    assert request.path.startswith("http://service.test/api/v1/agents")


RENEWALS = """
from voice_calling.testing import Answer, ScriptedService

calls = [{"call_insights": {"metadata": {"amount": it}}} for it in (0.25, "a quarter")]
with ScriptedService(Answer(json=calls)).client() as client:
    for call in client.calls.get_details("task-1").calls:
        print(repr(renewal(call)))
"""


def test_metadata_of_another_form_than_expected_are_there_as_text(tmp_path: Path) -> None:
    lines = output(RENEWAL + RENEWALS, tmp_path)
    assert lines == ["Renewal(amount=0.25, paid_until=None)", """'{"amount": "a quarter"}'"""]


EXPORT = """
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from voice_calling.testing import LOST, Answer, ScriptedService

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
service = ScriptedService(LOST, Answer(429))
with service.client(on_attempt=on_attempt) as client:
    for _ in range(2):
        try:
            create_docket(client, agent_id=7, to_phone_number="910000000000", call_context={})
        except VoiceCallingError:
            pass
for span in spans.get_finished_spans():
    names = ["http.request.method", "http.response.status_code", "error.type"]
    print(span.name, span.parent is not None, *[span.attributes.get(it) for it in names])
data = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0].data
for point in data.data_points:
    print(point.value, dict(point.attributes))
sent = [request.headers["traceparent"].split("-")[2] for request in service.requests]
ids = [format(span.context.span_id, "016x") for span in spans.get_finished_spans()]
print([ids.index(it) for it in sent])
"""


def test_opentelemetry_gets_each_attempt_and_counts_creates(tmp_path: Path) -> None:
    assert output(TELEMETRY + EXPORT, tmp_path) == [
        "POST True POST None no_response",
        "create_docket False None None None",
        "POST True POST 429 429",
        "POST True POST 200 None",
        "create_docket False None None None",
        "1 {'outcome': 'unknown'}",
        "1 {'outcome': 'created', 'may_be_duplicate': False}",
        "[0, 2, 3]",
    ]


# ---------------------------------------------------------------------------- drift


def test_the_page_names_every_error() -> None:
    text = readme.README.read_text(encoding="utf-8")
    for name in set(voice_calling._errors.__all__) - {"VoiceCallingError"}:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("module", [voice_calling, _methods])
def test_examples_in_docstrings_are_right(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
