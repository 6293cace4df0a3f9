"""A recorded history: everything that went into and came out of the machine, without the token."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DOCKET, TOKEN, Answer, Serve

from voice_calling import AsyncVoiceClient, Unauthorized, VoiceClient
from voice_calling._guest import Guest


@pytest.mark.parametrize("is_async", [False, True])
def test_a_history_can_be_played_again(serve: Serve, tmp_path: Path, is_async: bool) -> None:
    service = serve(Answer(503, ""), Answer(401, f"no such token: {TOKEN}"))
    path = tmp_path / "history.jsonl"

    async def in_a_coroutine() -> None:
        async with AsyncVoiceClient(environ=service.environ(), history=path) as client:
            await client.dockets.create(**DOCKET)

    def in_a_thread() -> None:
        with VoiceClient(environ=service.environ(), history=str(path)) as client:
            client.dockets.create(**DOCKET)

    with pytest.raises(Unauthorized):
        asyncio.run(in_a_coroutine()) if is_async else in_a_thread()
    text = path.read_text(encoding="utf-8")
    assert TOKEN not in text
    assert "masked-token" in text
    configured, *steps = [json.loads(line) for line in text.splitlines()]
    assert len(steps) >= 3
    guest = Guest()
    assert guest.call("configure", configured["configure"]) == {"Ok": None}
    for line in steps:
        assert without_token(guest.call("step", line["step"])) == without_token(line["stepped"])


@pytest.mark.parametrize("is_async", [False, True])
def test_a_history_that_cannot_be_written_costs_a_warning_and_no_call(
    serve: Serve, tmp_path: Path, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve()
    path = tmp_path / "history.jsonl"

    def becomes_unwritable() -> None:
        path.unlink()
        path.mkdir()

    async def in_a_coroutine() -> None:
        async with AsyncVoiceClient(environ=service.environ(), history=path) as client:
            await client.dockets.create(**DOCKET)
            becomes_unwritable()
            for _ in range(2):
                await client.dockets.create(**DOCKET)

    def in_a_thread() -> None:
        with VoiceClient(environ=service.environ(), history=path) as client:
            client.dockets.create(**DOCKET)
            becomes_unwritable()
            for _ in range(2):
                client.dockets.create(**DOCKET)

    asyncio.run(in_a_coroutine()) if is_async else in_a_thread()
    assert len(service.requests) == 3
    [warning] = [it for it in caplog.messages if "cannot be written" in it]
    assert str(path) in warning


def test_a_history_in_a_folder_that_is_not_there_costs_a_warning(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with VoiceClient(environ=serve().environ(), history=tmp_path / "no" / "h.jsonl") as client:
        assert client.dockets.create(**DOCKET).status == "OPEN"
    assert [it for it in caplog.messages if "cannot be written" in it]


def without_token(stepped: Any) -> Any:
    """The token is masked in what was recorded, and shown where it is sent again."""
    return json.loads(json.dumps(stepped).replace(TOKEN, "masked-token"))
