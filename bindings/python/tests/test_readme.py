"""The examples of the README and of the docstrings, on the mock service."""

from __future__ import annotations

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
from voice_calling import _client, _webhooks

USER_PYTHON = os.environ.get("USER_PYTHON", sys.executable)
"""A Python in which nothing is installed but the package, where there is one."""

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
    first, second, third = output(EXAMPLES["Many dockets"], tmp_path)
    assert re.fullmatch(r"crm-1 is docket [-0-9a-f]{36}", first)
    assert re.fullmatch(r"crm-2 is docket [-0-9a-f]{36}", second)
    assert third.startswith("crm-3 failed: to_phone_number: found")


def test_a_direct_call_has_insights(tmp_path: Path) -> None:
    [line] = output(EXAMPLES["A direct call and its insights, in coroutines"], tmp_path)
    assert re.fullmatch(r"ANSWERED [0-9.]+ \{.*\}", line), line


def test_a_webhook_is_verified(tmp_path: Path) -> None:
    code = EXAMPLES["A webhook handler"] + DELIVERIES
    docket, unverified, *statuses = output(code, tmp_path)
    assert docket == "COMPLETED None"
    assert unverified == "the service does not confirm: call_insights attempts"
    assert statuses == ["204", "400", "204", "400", "413"]


def test_organizations_have_accounts(tmp_path: Path) -> None:
    # The mock service knows one token.
    code = re.sub("token-of-[a-z]+", "mock-token-0001", EXAMPLES["Several organizations"])
    alpha, beta = output(code, tmp_path)
    assert re.fullmatch("alpha [1-9]", alpha)
    assert re.fullmatch("beta [1-9]", beta)


DELIVERIES = """
import threading, urllib.error, urllib.request
from http.server import HTTPServer

Webhook.log_message = lambda *_: None
server = HTTPServer(("127.0.0.1", 0), Webhook)
threading.Thread(target=server.serve_forever, daemon=True).start()
docket = client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
client.dockets.wait_for(docket.docket_id, timeout=20)
body = '{"docket_id": "%s", "call_insights": null, "attempts": [1]}'
statuses = []
url = f"http://127.0.0.1:{server.server_address[1]}"
for content, headers in [
    (body % docket.docket_id, {}),
    (body % "11111111-2222-3333-4444-555555555555", {}),
    ('{"event": "call"}', {}),
    ("{", {}),
    ("", {"content-length": str(1024 * 1024 + 1)}),
]:
    request = urllib.request.Request(url, content.encode(), headers)
    try:
        statuses.append(urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        statuses.append(error.code)
print(*statuses, sep="\\n")
"""


def test_an_error_is_told(tmp_path: Path) -> None:
    first, second = output(EXAMPLES["Errors"], tmp_path)
    assert first.startswith("InvalidInput: to_phone_number: found")
    assert second == "to_phone_number False"


def test_logging_is_switched_on(tmp_path: Path) -> None:
    code = EXAMPLES["Settings"] + "from voice_calling import VoiceClient\n"
    code += 'VoiceClient().agents.list("org-1")\n'
    told = run_as_user(code, tmp_path).stderr
    assert re.search(r"DEBUG:voice_calling:agents.list-agents: attempt 1, GET .*: 200", told)


def test_the_tables_have_every_error_and_every_setting() -> None:
    text = readme.README.read_text(encoding="utf-8")
    for name in voice_calling._errors.__all__:
        assert f"| `{name}` |" in text, name
    options = re.findall(r"^- `(\w+)`:", inspect.getdoc(_client.VoiceClient) or "", re.MULTILINE)
    assert len(options) == 17
    for option in options:
        assert f"\n| `{option}` |" in text, option


@pytest.mark.parametrize("module", [voice_calling, _webhooks])
def test_examples_in_docstrings_are_right(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
