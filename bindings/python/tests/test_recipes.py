"""The programs of the project's recipes, in a Python of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import readme
from conftest import Serve

from voice_calling import Ledger, OutcomeUnknown
from voice_calling.testing import COMPLETED, LOST, Answer, ScriptedService

PAGE = (readme.ROOT / "docs/recipes.md").read_text(encoding="utf-8")
REMIND, REMIND_TEST, ORGANIZATIONS, PROXY, UNKNOWN = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def output(folder: Path, *arguments: str, typed: str = "", **environ: str) -> str:
    """What Python prints with these arguments, when a person types this."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **environ},
        input=typed,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout


def test_tests_without_a_phone_pass(tmp_path: Path) -> None:
    (tmp_path / "reminders.py").write_text(REMIND)
    (tmp_path / "test_reminders.py").write_text(REMIND_TEST)
    assert "2 passed" in output(tmp_path, "-m", "pytest", "--quiet")


def test_several_organizations_have_keys_of_their_own(serve: Serve, tmp_path: Path) -> None:
    service = serve()
    printed = [output(tmp_path, "-c", ORGANIZATIONS, **service.environ()) for _ in range(2)]
    assert [re.findall("True|False", it) for it in printed] == [["False"] * 2, ["True"] * 2]
    tokens = [request.headers["auth_token"] for request in service.requests]
    assert tokens == ["Bearer token-of-alpha", "Bearer token-of-beta"]


def test_requests_go_through_the_proxy(serve: Serve, tmp_path: Path) -> None:
    proxy, service = serve(Answer(200, body=[])), serve()
    code = PROXY.replace("http://127.0.0.1:3128", proxy.url)
    printed = output(tmp_path, "-c", code, **service.environ())
    assert printed == "0 agents, through the proxy\n"
    assert (len(proxy.requests), service.requests) == (1, [])


def test_a_person_resolves_what_is_unknown(serve: Serve, tmp_path: Path) -> None:
    keys, path = ["crm-1", "crm-2", "crm-3"], tmp_path / "calls.db"
    service = serve(Answer(404), COMPLETED, COMPLETED)
    docket_id = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"
    wrong = ["a typing error", docket_id.replace("7", "8")]
    with ScriptedService(LOST).client(ledger=path) as client:
        for key in keys:
            try:
                client.dockets.create(
                    agent_id=7, to_phone_number="910000000000", call_context={}, once=key
                )
            except OutcomeUnknown:
                continue
    typed = "\n".join(["-", *wrong, docket_id, "n", docket_id, "y", "", ""])
    printed = output(tmp_path, "-c", UNKNOWN, typed=typed, **service.environ())
    assert printed.count("None 919876543210 {}\nIs it this one?") == 2
    with Ledger(path) as ledger:
        states = [entry.state.value for key in keys if (entry := ledger.get(key))]
    assert states == ["free", "done", "unknown"]
