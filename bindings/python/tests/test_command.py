"""The command that the wheel brings: as a program of its own, to signals and in a terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PATIENCE_S, Service

COMMAND = str(Path(sys.executable).parent / "voice-calling")
CALL_LIST = "call-list list.csv --agent-id 7 --number-column phone --key-column crm_id"
CALL_LIST += " --campaign renewals --ledger calls.db"


@contextlib.contextmanager
def calling(service: Service, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, which calls 100 people."""
    rows = [f"{it},91987654{it:04}" for it in range(100)]
    (folder / "list.csv").write_text("\n".join(["crm_id,phone", *rows]))
    pipe, environ = subprocess.PIPE, {**os.environ, **service.environ()}
    command = [COMMAND, *CALL_LIST.split()]
    # Ctrl-C is ignored where a shell runs the tests in the background, and children inherit that.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, env=environ, cwd=folder, stdout=pipe, stderr=pipe, text=True
    ) as process:
        signal.signal(signal.SIGINT, former)
        try:
            yield process
        finally:
            process.kill()


def interrupt(process: subprocess.Popen[str], service: Service, stop: int) -> None:
    """Sends a signal once five calls are open, and waits until the command has taken it."""
    for _ in range(5):
        service.wait_for_request()
    process.send_signal(stop)
    assert process.stderr is not None
    assert any("finishing the open calls" in line for line in process.stderr)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_the_open_calls(service: Service, tmp_path: Path, stop: int) -> None:
    service.gate.clear()
    with calling(service, tmp_path) as process:
        interrupt(process, service, stop)
        service.gate.set()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, len(service.requests)) == (3, 5), err
    assert "5 called" in out
    assert "interrupted" in out


def test_a_second_signal_names_what_is_left_unknown(service: Service, tmp_path: Path) -> None:
    service.gate.clear()
    with calling(service, tmp_path) as process:
        interrupt(process, service, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err.count("left unknown: renewals/")) == (3, 5), err
    assert "Traceback" not in err


def test_a_wait_ends_at_once_by_the_signal(service: Service) -> None:
    service.gate.clear()
    environ = {**os.environ, **service.environ()}
    command = [COMMAND, "wait", "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"]
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, former)
        service.wait_for_request()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (-signal.SIGINT, "")


@pytest.mark.parametrize(
    ("arguments", "code", "printed"),
    [
        (["--version"], 0, "voice-calling 0.2.0\n"),
        (["completions", "bash"], 0, "complete -F _voice__calling"),
        (["call"], 2, "Usage: voice-calling call"),
        (["docket", "12"], 2, "error: docket_id: found"),
    ],
)
def test_the_command_ends_with_the_exit_code_of_the_program(
    service: Service, arguments: list[str], code: int, printed: str
) -> None:
    environ = {**os.environ, **service.environ()}
    run = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=environ)
    assert run.returncode == code
    assert printed in run.stdout + run.stderr


def test_a_terminal_has_a_bar(service: Service, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("crm_id,phone\n1,919876543210\n2,919876543211")
    environ = {**os.environ, **service.environ()}
    terminal = ["script", "-qefc", f"{COMMAND} {CALL_LIST}", "/dev/null"]
    run = subprocess.run(terminal, capture_output=True, text=True, env=environ, cwd=tmp_path)
    assert (run.returncode, "left |" in run.stdout) == (0, True), run.stdout
