"""The examples of the README and of the docstrings, on the mock service."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

import voice_calling
from voice_calling import _client, _webhooks

README = Path(os.environ.get("VOICE_README", Path(__file__).parent.parent / "README.md"))


@pytest.fixture(autouse=True)
def settings(mock_service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_CALLING_BASE_URL", mock_service)
    monkeypatch.setenv("VOICE_CALLING_API_TOKEN", "mock-token-0001")
    monkeypatch.setenv("VOICE_CALLING_BACKOFF_MS", "20")
    monkeypatch.setenv("VOICE_CALLING_MAX_BACKOFF_MS", "50")


def example(title: str) -> str:
    """The Python under a heading."""
    text = README.read_text(encoding="utf-8")
    [_, section] = text.split(f"\n## {title}\n")
    found = re.search(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    assert found is not None, title
    return found[1]


def output(title: str) -> list[str]:
    """What an example prints, in a Python of its own, as a user runs it."""
    command = [sys.executable, "-c", example(title)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_a_docket_is_created_and_waited_for() -> None:
    [kept, done] = output("A docket, from its creation to its completion")
    assert re.fullmatch(r"keep this: [-0-9a-f]{36}", kept)
    assert done == "COMPLETED DISPOSITION Asha"


def test_a_batch_tells_each_outcome() -> None:
    first, second, third = output("Many dockets")
    assert re.fullmatch(r"crm-1 is docket [-0-9a-f]{36}", first)
    assert re.fullmatch(r"crm-2 is docket [-0-9a-f]{36}", second)
    assert third.startswith("crm-3 failed: to_phone_number: found")


def test_a_direct_call_has_insights() -> None:
    [line] = output("A direct call and its insights, in coroutines")
    assert re.fullmatch(r"ANSWERED [0-9.]+ \{.*\}", line), line


def test_a_webhook_is_handled(capsys: pytest.CaptureFixture[str]) -> None:
    with voice_calling.VoiceClient() as client:
        docket = client.dockets.create(
            agent_id=7, to_phone_number="919876543210", call_context={"a": 1}
        )
    names: dict[str, Any] = {"__name__": "example"}
    exec(example("A webhook handler"), names)
    names["Webhook"].log_message = lambda *_: None
    server = HTTPServer(("127.0.0.1", 0), names["Webhook"])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        body = f'{{"docket_id": "{docket.docket_id}", "call_insights": null}}'
        for content, status in [(body, 204), ('{"event": "call"}', 204), ("{", 400)]:
            assert post(url, content) == status
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        names["client"].close()
    assert re.fullmatch(r"(OPEN|IN_PROGRESS|COMPLETED) None\n", capsys.readouterr().out)


def post(url: str, content: str) -> int:
    try:
        with urllib.request.urlopen(url, content.encode()) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_an_error_is_told() -> None:
    first, second = output("Errors")
    assert first.startswith("InvalidInput: to_phone_number: found")
    assert second == "to_phone_number None None 0"


def test_logging_is_switched_on() -> None:
    code = example("Settings") + "from voice_calling import VoiceClient\n"
    code += 'VoiceClient().agents.list("org-1")\n'
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert re.search(r"DEBUG:voice_calling:agents.list-agents: attempt 1, GET .*: 200", run.stderr)


def test_the_tables_have_every_error_and_every_setting() -> None:
    text = README.read_text(encoding="utf-8")
    for name in voice_calling._errors.__all__:
        assert name == "RequestError" or f"\n| `{name}` |" in text, name
    options = re.findall(r"^- `(\w+)`:", _client.VoiceClient.__doc__ or "", re.MULTILINE)
    assert len(options) == 16
    for option in options:
        assert f"\n| `{option}` |" in text, option


@pytest.mark.parametrize("module", [voice_calling, _webhooks])
def test_examples_in_docstrings_are_right(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)
