"""Attempts as records of the logger `voice_calling`."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from conftest import DOCKET, create

from voice_calling import DocketRequest
from voice_calling.testing import CREATED, Answer, ScriptedService


def test_each_attempt_is_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "voice_calling")
    with ScriptedService(Answer(503), CREATED).client() as client:
        create(client, call_context={"secret": 1})
    first, second = [it for it in caplog.records if it.name == "voice_calling"]
    assert (first.levelno, second.levelno) == (logging.INFO, logging.DEBUG)
    assert first.getMessage().startswith(
        "dockets.create-docket-v2: attempt 1, POST /api/v2/dockets: 503 after "
    )
    details: Any = vars(second)["voice_calling"]
    assert (details["attempt"], details["status"]) == (2, 200)
    for secret in ["test-token", "919876543210", "secret"]:
        assert secret not in caplog.text


def test_each_created_id_is_logged_with_what_its_caller_knows_the_request_by(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "voice_calling.created")
    requests = [DocketRequest(**DOCKET, external_id=it) for it in ["crm-0", None]]
    with ScriptedService().client() as client:
        create(client, external_id="crm-7")
        client.dockets.create_many(requests, timeout=60)
    docket_id = CREATED.body["docket_id"]
    assert sorted(caplog.messages) == [
        f"docket_id {docket_id} was created (external_id 'crm-7')",
        f"docket_id {docket_id} was created (request 0 of the batch, external_id 'crm-0')",
        f"docket_id {docket_id} was created (request 1 of the batch)",
    ]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_handler_that_fails_ends_neither_the_call_nor_the_process(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    error: type[BaseException],
) -> None:
    class Failing(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise error("no space left")

    logger = logging.getLogger("voice_calling")
    caplog.set_level(logging.DEBUG, logger.name)
    monkeypatch.setattr(logger, "handlers", [Failing()])
    service = ScriptedService()
    with service.client() as client:
        for _ in range(2):
            create(client)
    assert len(service.requests) == 2
    printed = capfd.readouterr().err
    assert "no space left" in printed
    assert "ctypes" not in printed
