"""Creates with a key, and the ledger that stores them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import DOCKET, DOCKET_ID, Service

import voice_calling as vc
from voice_calling.testing import LOST, ScriptedService


def test_an_entry_has_what_was_created_and_when(tmp_path: Path) -> None:
    with ScriptedService().client(ledger=tmp_path / "calls.db") as client:
        docket = client.dockets.create(**DOCKET, key="crm-1")
        assert client.ledger is not None
        entry = client.ledger.get("crm-1")
    assert entry is not None
    assert (entry.state, entry.function) == ("done", "create_docket_v2")
    assert entry.created_id == docket.docket_id
    assert abs(datetime.now(UTC) - entry.begun_at) < timedelta(minutes=1)


def test_an_unknown_outcome_is_not_sent_again_until_a_person_has_looked(tmp_path: Path) -> None:
    service = ScriptedService(LOST, LOST)
    with vc.Ledger(tmp_path / "calls.db") as ledger, service.client(ledger=ledger) as client:
        for key in ("crm-1", "crm-2", "crm-1", "crm-2"):
            with pytest.raises(vc.OutcomeUnknownError):
                client.dockets.create(**DOCKET, key=key)
        assert len(service.requests) == 2
        assert [entry.key for entry in ledger.unknown()] == ["crm-1", "crm-2"]
        assert ledger.resolve("crm-1", DOCKET_ID, by="Asha").resolved_by == "Asha"
        assert ledger.release("crm-2", by="Asha").state == "free"
        with pytest.raises(vc.InvalidInputError):
            ledger.release("crm-1", by="Asha")
        assert client.dockets.create(**DOCKET, key="crm-1").docket_id == DOCKET_ID
        assert not client.dockets.create(**DOCKET, key="crm-2").from_ledger
        assert ledger.prune(done_before=datetime.now() + timedelta(days=1)) == 2
        assert ledger.get("crm-1") is None
    assert len(service.requests) == 3


def test_a_key_without_a_ledger_is_refused() -> None:
    service = ScriptedService()
    with service.client() as client, pytest.raises(vc.ConfigurationError, match="ledger"):
        client.dockets.create(**DOCKET, key="crm-1")
    assert service.requests == []


def test_a_file_that_is_no_ledger_is_refused_when_the_client_is_made(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    path.write_text("name,phone")
    with pytest.raises(vc.ConfigurationError) as raised:
        ScriptedService().client(ledger=path)
    assert str(path) in str(raised.value)
    assert path.read_text() == "name,phone"


def test_a_batch_takes_its_keys_from_external_ids(tmp_path: Path) -> None:
    service = ScriptedService()
    requests = [vc.DocketRequest(**DOCKET, external_id=f"crm-{it}") for it in range(5)]
    for is_second in (False, True):
        with service.client(ledger=tmp_path / "calls.db") as client:
            batch = client.dockets.create_each(iter(requests), timeout=60, key="external_id")
            created = [result.created for result in batch]
        assert [it and it.from_ledger for it in created] == [is_second] * 5
    assert len(service.requests) == 5


def test_coroutines_await_the_ledger(tmp_path: Path) -> None:
    async def main() -> None:
        async with ScriptedService(LOST).async_client(ledger=tmp_path / "calls.db") as client:
            with pytest.raises(vc.OutcomeUnknownError):
                await client.dockets.create(**DOCKET, key="crm-1")
            assert client.ledger is not None
            [entry] = await client.ledger.unknown()
            assert (await client.ledger.release(entry.key, by="Asha")).state == "free"

    asyncio.run(main())


def test_a_create_in_progress_elsewhere_is_not_sent(service: Service, tmp_path: Path) -> None:
    service.gate.clear()

    async def main() -> None:
        ledger = tmp_path / "calls.db"
        async with vc.AsyncVoiceClient(environ=service.environ(), ledger=ledger) as client:
            first = asyncio.create_task(client.dockets.create(**DOCKET, key="crm-1"))
            await asyncio.to_thread(service.wait_for_request)
            with pytest.raises(vc.OutcomeUnknownError) as raised:
                await client.dockets.create(**DOCKET, key="crm-1")
            assert raised.value.problem is not None
            assert raised.value.problem.subject == "key"
            service.gate.set()
            await first

    asyncio.run(main())
    assert len(service.requests) == 1


SECRET = b"a secret of the tests"

Change = Callable[[str | None], str | None]


class Table:
    """A storage on a database of the user's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, entry TEXT)")

    def update(self, key: str, change: Change) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            found = database.execute("SELECT entry FROM calls WHERE key = ?", (key,)).fetchone()
            entry = change(found and found[0])
            if entry is not None:
                database.execute("REPLACE INTO calls VALUES (?, ?)", (key, entry))
            database.execute("COMMIT")

    def entries_after(self, key: str) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self._path)) as database:
            rows = database.execute("SELECT * FROM calls WHERE key > ? ORDER BY key", (key,))
            return list(rows)


class Coroutines:
    """A storage whose methods are coroutine functions."""

    def __init__(self) -> None:
        self.entries: dict[str, str | None] = {}
        self.loops: set[asyncio.AbstractEventLoop] = set()

    async def update(self, key: str, change: Change) -> None:
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        self.entries[key] = change(self.entries.get(key)) or self.entries.get(key)


def test_a_storage_of_the_users_own_keeps_what_was_begun(tmp_path: Path) -> None:
    service, table = ScriptedService(LOST), Table(tmp_path / "own.db")
    for is_second in (False, True):
        ledger = vc.Ledger.on(table, SECRET)
        with service.client(ledger=ledger) as client:
            with pytest.raises(vc.OutcomeUnknownError):
                client.dockets.create(**DOCKET, key="crm-1")
            assert client.dockets.create(**DOCKET, key="crm-2").from_ledger is is_second
            assert [entry.key for entry in ledger.unknown()] == ["crm-1"]
    assert len(service.requests) == 2
    assert "919876543210" not in (tmp_path / "own.db").read_text(errors="replace")
    with pytest.raises(vc.ConfigurationError, match="no method prune"):
        ledger.prune(done_before=datetime.now())


def test_a_storage_may_have_coroutines_which_run_on_its_event_loop() -> None:
    service, storage = ScriptedService(), Coroutines()

    async def main() -> None:
        ledger = vc.Ledger.on(storage, SECRET)
        async with service.async_client(ledger=ledger) as client:
            for from_ledger in (False, True):
                docket = await client.dockets.create(**DOCKET, key="crm-1")
                assert docket.from_ledger is from_ledger
        assert storage.loops == {asyncio.get_running_loop()}

    asyncio.run(main())
    assert len(service.requests) == 1
    with pytest.raises(RuntimeError, match="event loop"):
        vc.Ledger.on(storage, SECRET)


@pytest.mark.parametrize(
    ("update", "found"),
    [
        (lambda key, change: 1 / 0, "division by zero"),
        (lambda key, change: None, "did not call `change`"),
        (lambda key, change: change("{}"), "a stored entry"),
    ],
)
def test_nothing_is_sent_if_a_storage_fails(update: Callable[..., None], found: str) -> None:
    class Failing:
        pass

    service, storage = ScriptedService(), Failing()
    storage.update = update  # type: ignore[attr-defined]
    with service.client(ledger=vc.Ledger.on(storage, SECRET)) as client:  # type: ignore[arg-type]
        with pytest.raises(vc.ConfigurationError, match=found):
            client.dockets.create(**DOCKET, key="crm-1")
    assert service.requests == []


def test_the_secret_of_a_storage_has_16_bytes() -> None:
    with pytest.raises(vc.ConfigurationError, match="secret"):
        vc.Ledger.on(Table(Path(":memory:")), b"short")
