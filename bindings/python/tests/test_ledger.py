"""The ledger: a program that was killed is run again, and calls no one twice."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import os
import signal
import sqlite3
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import (
    DOCKET,
    DOCKET_ID,
    KEY,
    Serve,
    Service,
    create_once,
    drivers,
    finished,
    outcome_on,
    posix,
    started,
)
from test_storage import Table

from voice_calling import (
    AsyncVoiceClient,
    BatchResult,
    ConfigurationProblem,
    CreatedDocket,
    DocketRequest,
    InProgress,
    InvalidInput,
    Ledger,
    LedgerState,
    OutcomeUnknown,
    RequestError,
    VoiceClient,
)
from voice_calling._storage import Claim, Keys, Storage
from voice_calling.testing import CREATED, LOST, Answer, ScriptedService


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "calls.db")


def create_in_batch(client: Any) -> Any:
    return client.dockets.create_many([DocketRequest(**DOCKET, once=KEY)], timeout=20)


def create_each(client: Any) -> Any:
    batch = client.dockets.create_each([DocketRequest(**DOCKET, once=KEY)], timeout=20)
    return next(batch) if isinstance(client, VoiceClient) else anext(batch)


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Locks the ledger, so that writers wait."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield


def only(outcome: Any) -> Any:
    if isinstance(outcome, BatchResult):
        return outcome.outcome
    return outcome[0] if isinstance(outcome, list) else outcome


@drivers
@pytest.mark.parametrize("call", [create_once, create_in_batch, create_each])
def test_a_result_is_handed_over_when_it_is_on_the_disk_and_is_had_again_from_there(
    service: Service, path: str, driver: str, call: Callable[..., Any]
) -> None:
    service.gate.clear()
    with ThreadPoolExecutor(1) as thread, Ledger(path) as ledger:
        ended = thread.submit(outcome_on, driver, call, environ=service.environ(), ledger=ledger)
        service.wait_for_request()
        with locked(path):
            service.gate.set()
            time.sleep(0.3)
            assert not ended.done()
        assert isinstance(only(ended.result(20)), CreatedDocket)
        assert state_of(ledger) is LedgerState.DONE
        again = outcome_on(driver, call, environ=service.environ(), ledger=ledger)
        assert (only(again).docket_id, only(again).from_ledger) == (DOCKET_ID, True)
    assert len(service.requests) == 1


# --------------------------------------------------------------------------- processes and ends


def create_with(path: str, kills_in: str = "nothing") -> str:
    """A program that creates a docket with a key, and may be killed in a hook."""
    return f"""
        import httpx
        def kill(_):
            os.kill(os.getpid(), signal.SIGKILL)
        http_client = httpx.Client(event_hooks={{{kills_in!r}: [kill]}})
        with VoiceClient(http_client=http_client, ledger={path!r}) as client:
            try:
                client.dockets.create(**DOCKET, once={KEY!r})
            except OutcomeUnknown:
                pass
    """


@pytest.mark.parametrize(("hook", "requests"), [("request", 0), ("response", 1)])
def test_a_create_whose_process_was_killed_in_a_hook_is_unknown_and_never_sent_again(
    service: Service, path: str, hook: str, requests: int
) -> None:
    with started(service, create_with(path, hook)) as process:
        assert process.wait(20) == -signal.SIGKILL
    finished(service, create_with(path))
    assert len(service.requests) == requests
    with Ledger(path) as ledger:
        assert [entry.key for entry in ledger.unknown()] == [KEY]
    assert os.listdir(os.path.dirname(path)) == ["calls.db"]


@pytest.mark.parametrize("moment", ["claimed", "sent"])
def test_a_create_whose_process_ends_is_unknown_if_it_was_sent_and_otherwise_free(
    service: Service, path: str, moment: str
) -> None:
    service.gate.clear()
    code = f"""
        import sqlite3
        from voice_calling._driver import Driver
        client = VoiceClient(ledger={path!r})
        client.ledger.unknown()
        lock = sqlite3.connect({path!r}, isolation_level=None, check_same_thread=False)
        def unlock_at_the_end():
            while not Driver.is_refusing:
                time.sleep(0.01)
            lock.close()
        if {moment!r} == "claimed":
            lock.execute("BEGIN IMMEDIATE")
            threading.Thread(target=unlock_at_the_end, daemon=True).start()
        arguments = {{**DOCKET, "once": {KEY!r}}}
        threading.Thread(target=client.dockets.create, kwargs=arguments, daemon=True).start()
        if {moment!r} == "sent":
            sys.stdin.read()
        while {moment!r} == "claimed" and not client._driver._machine.awaits_ledger:
            time.sleep(0.01)
    """
    with started(service, code) as process:
        if moment == "sent":
            service.wait_for_request()
        process.communicate(timeout=20)
    assert process.returncode == 0
    with Ledger(path) as ledger:
        expected = LedgerState.UNKNOWN if moment == "sent" else LedgerState.FREE
        assert state_of(ledger) is expected
    assert os.listdir(os.path.dirname(path)) == ["calls.db"]
    assert len(service.requests) == (moment == "sent")


@drivers
def test_a_key_that_is_in_progress_is_refused_and_its_answer_is_returned_later(
    service: Service, path: str, driver: str
) -> None:
    service.gate.clear()
    with started(service, create_with(path)) as process:
        service.wait_for_request()
        options: dict[str, Any] = {"environ": service.environ(), "ledger": path}
        assert type(outcome_on(driver, create_once, **options)) is InProgress
        service.gate.set()
        assert process.wait(20) == 0
    assert outcome_on(driver, create_once, **options).from_ledger
    assert len(service.requests) == 1


def wait_for_claim(client: Any) -> None:
    while not client._driver._machine.awaits_ledger:
        time.sleep(0.001)


def give_up_in_threads(client_options: dict[str, Any], moment: Callable[[Any], None]) -> None:
    with VoiceClient(**client_options) as client:
        with client.dockets.create_each([DocketRequest(**DOCKET, once=KEY)], timeout=20):
            moment(client)


def close_loop(client_options: dict[str, Any], moment: Callable[[Any], None]) -> None:
    client = AsyncVoiceClient(**client_options)
    loop = asyncio.new_event_loop()
    call = loop.create_task(create_once(client))
    loop.run_until_complete(loop.run_in_executor(None, moment, client))
    loop.close()
    with pytest.raises(ConfigurationProblem):  # when the client is used again
        asyncio.run(client.agents.list("org-1", account="unknown"))
    assert not call.done()
    del call
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # asyncio's own
@pytest.mark.parametrize("give_up", [give_up_in_threads, close_loop])
@pytest.mark.parametrize("is_sent", [True, False])
def test_a_create_that_is_given_up_is_unknown_and_logged_if_it_was_sent_and_otherwise_free(
    service: Service,
    path: str,
    caplog: pytest.LogCaptureFixture,
    give_up: Callable[..., None],
    is_sent: bool,
) -> None:
    service.gate.clear()
    with Ledger(path) as ledger:
        assert ledger.unknown() == []
        options = {"environ": service.environ(), "ledger": ledger}
        if is_sent:
            give_up(options, lambda _: service.wait_for_request())
        else:
            with locked(path):
                give_up(options, wait_for_claim)
        expected = LedgerState.UNKNOWN if is_sent else LedgerState.FREE
        with Ledger(path) as other:
            assert state_of(ledger) is expected
            assert state_of(other) is expected
    warnings = [it for it in caplog.records if it.name == "voice_calling"]
    assert len(service.requests) == len(warnings) == is_sent


@posix
def test_a_ledger_survives_a_fork(service: Service, path: str) -> None:
    ledger = Ledger(path)
    go_on, is_closed = os.pipe()
    with VoiceClient(environ=service.environ(), ledger=ledger) as client:
        create_once(client)
        child = os.fork()
        if child == 0:
            is_right = False
            try:
                with VoiceClient(environ=service.environ(), ledger=ledger) as own:
                    is_right = (
                        create_once(own).from_ledger
                        and not create_once(own, once="child").from_ledger
                    )
                    os.read(go_on, 1)  # the parent has closed the file
                    create_once(own, once="later")
            finally:
                os._exit(0 if is_right else 1)
        while ledger.get("child") is None:
            time.sleep(0.01)
        assert not create_once(client, once="parent").from_ledger
    ledger.close()
    os.write(is_closed, b"x")
    assert os.waitpid(child, 0)[1] == 0
    with Ledger(path) as again:
        entries = [again.get(key) for key in (KEY, "child", "parent", "later")]
    assert all(entry is not None and entry.state is LedgerState.DONE for entry in entries)


@posix
@pytest.mark.parametrize("make", [Ledger, lambda _: Storage(Table())])
def test_a_child_of_a_fork_records_nothing_of_what_its_parent_has_begun(
    path: str, make: Callable[[str], Keys]
) -> None:
    keys, found = make(path), deque[Any]()

    def claim() -> Claim:
        claimed = Claim(KEY, "dockets.create-docket-v2", [("agent_id", "7")])
        keys.claim(claimed, found.append)
        keys.close()
        return claimed

    def state() -> Any:
        claim()
        return found[-1] and found[-1]["Entry"]["state"]

    begun = claim()
    assert found[-1] is None
    child = os.fork()
    if child == 0:  # as if its end had cancelled its copy of the call
        keys.record(begun, "free", None, None, lambda: None)
        keys.close()
        os._exit(state() != "begun")
    assert os.waitpid(child, 0)[1] == 0
    assert state() == "begun"
    keys.record(begun, "done", json.dumps({"docket_id": DOCKET_ID}), None, lambda: None)
    assert state() == "done"


@posix
def test_a_child_sees_whether_its_parent_lives(service: Service, path: str) -> None:
    code = f"""
        from voice_calling._storage import Claim
        ledger = Ledger({path!r})
        ledger.claim(Claim("a", "dockets.create-docket-v2", []), lambda _: None)
        assert ledger.get("a").state == "begun"
        reader, writer = os.pipe()
        if os.fork():
            os.read(reader, 1)
            os.kill(os.getpid(), signal.SIGKILL)
        for expected in ("begun", "unknown"):
            for it in (ledger, Ledger({path!r})):
                print(it.get("a").state == expected)
            parent = os.getppid()
            os.write(writer, b"x")
            while expected == "begun" and os.getppid() == parent:
                time.sleep(0.01)
    """
    with started(service, code) as process:
        out, err = process.communicate(timeout=20)
    assert out.split() == ["True"] * 4, err
    assert os.listdir(os.path.dirname(path)) == ["calls.db"]


def state_of(ledger: Ledger) -> LedgerState:
    entry = ledger.get(KEY)
    assert entry is not None
    return entry.state


def test_what_is_in_flight_is_in_progress_by_any_path_and_after_a_close(
    service: Service, path: str
) -> None:
    os.symlink(path, path + "-link")
    service.gate.clear()
    ledger = Ledger(path)
    with VoiceClient(environ=service.environ(), ledger=ledger) as client:
        call = threading.Thread(target=create_once, args=(client,))
        call.start()
        service.wait_for_request()
        ledger.close()
        with Ledger(path + "-link") as other:
            assert state_of(other) is LedgerState.BEGUN
            with pytest.raises(InvalidInput, match="an entry that is begun"):
                other.release(KEY, by="Asha")
        service.gate.set()
        call.join()
    assert state_of(ledger) is LedgerState.DONE
    ledger.close()


def test_no_change_is_lost_among_many_threads(path: str) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with Ledger(path) as ledger:
            ended = [threading.Event() for _ in range(8)]

            def look(end: threading.Event) -> None:
                for _ in range(3_000):
                    ledger.get(KEY)
                end.set()

            for end in ended:
                threading.Thread(target=look, args=(end,), daemon=True).start()
            assert all(end.wait(60) for end in ended)
    finally:
        sys.setswitchinterval(interval)


# ------------------------------------------------------------------------------ what is unknown


def test_a_docket_that_may_be_of_the_key_resolves_it_and_the_answer_counts_more(
    path: str,
) -> None:
    claim = Claim(KEY, "dockets.create-docket-v2", [("to_phone_number", "1")])
    with Ledger(path) as ledger, contextlib.closing(sqlite3.connect(path)) as database:
        ledger.claim(claim, lambda _: None)
        assert state_of(ledger) is LedgerState.BEGUN
        with database:
            database.execute("UPDATE creates SET state = 'unknown'")
        [unknown] = ledger.unknown()
        day = (unknown.begun_at - datetime.fromtimestamp(0, UTC)).days
        for number, created_day in [("2", day), ("1", day - 2), ("1", None)]:
            ledger.observe([KEY], DOCKET_ID, number, created_day)
        assert [entry.key for entry in ledger.unknown()] == [KEY]
        ledger.observe([KEY], "7f8d3b0e-0d51-4f0c-9a63-000000000000", "1", day - 1)
        assert state_of(ledger) is LedgerState.DONE
        ledger.record(claim, "done", json.dumps({"docket_id": DOCKET_ID}), None, lambda: None)
        entry = ledger.get(KEY)
    assert entry is not None
    assert (entry.created_id, entry.resolved_by) == (DOCKET_ID, None)


def test_the_answer_does_not_count_for_another_claim(path: str) -> None:
    claim = Claim(KEY, "dockets.create-docket-v2", [])
    with Ledger(path) as ledger, contextlib.closing(sqlite3.connect(path)) as database:
        ledger.claim(claim, lambda _: None)
        assert state_of(ledger) is LedgerState.BEGUN
        with database:  # a process that took the key since, and is gone
            database.execute("UPDATE creates SET claim = 'other/1'")
        ledger.record(claim, "done", json.dumps({"docket_id": DOCKET_ID}), None, lambda: None)
        assert state_of(ledger) is LedgerState.UNKNOWN


def test_a_person_resolves_or_releases_what_is_unknown(path: str) -> None:
    service = ScriptedService(LOST, LOST, CREATED)
    with service.client(ledger=path) as client, Ledger(path) as ledger:
        for key in ("found", "not found"):
            with pytest.raises(OutcomeUnknown):
                create_once(client, once=key)
        found, other = ledger.unknown()
        assert (found.key, found.function, other.key) == ("found", "dockets.create", "not found")
        assert json.loads(found.to_json())["begun_at"] == found.begun_at.isoformat()
        with pytest.raises(InvalidInput, match=r"created_id: .* allowed: a docket_id, .* a UUID"):
            ledger.resolve("found", "7f8d3b0e", by="Asha")
        assert ledger.resolve("found", DOCKET_ID, by="Asha").resolved_by == "Asha"
        ledger.release("not found", by="Asha")
        assert ledger.unknown() == []
        resolved = create_once(client, once="found")
        assert (resolved.docket_id, resolved.from_ledger) == (DOCKET_ID, True)
        assert not create_once(client, once="not found").from_ledger
        for key, shown in [("found", "an entry that is done"), ("other", "no entry")]:
            with pytest.raises(InvalidInput, match=f"key: found {shown}; allowed: the key of an"):
                ledger.release(key, by="Asha")
        later = datetime.now(UTC) + timedelta(hours=1)
        assert ledger.prune(done_before=later - timedelta(days=1)) == 0
        assert ledger.prune(done_before=later) == 2
        assert ledger.get("found") is None


# ------------------------------------------------------------------------------------ the file


@pytest.mark.parametrize("exists", [False, True])
def test_the_file_is_for_its_owner_alone_and_has_no_phone_numbers(
    serve: Serve, path: str, exists: bool
) -> None:
    if exists:
        Path(path).touch(0o644)
    number = DOCKET["to_phone_number"]
    shown = f"+{number[:2]} {number[2:7]} {number[7:]}"
    service = serve(
        Answer(200, {**CREATED.body, "shown": shown}), Answer(200, {"docket_id": number})
    )
    with VoiceClient(environ=service.environ(), ledger=path) as client:
        create_once(client)
        with pytest.raises(RequestError):
            create_once(client, once="2")
        for name in os.listdir(os.path.dirname(path)):
            file = Path(path).with_name(name)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert number[7:].encode() not in file.read_bytes()


def test_a_ledger_that_another_process_makes_at_the_same_time_is_used(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    statements: list[str] = []

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *arguments: Any) -> Any:
            statements.append(statement)
            if len(statements) == 2:
                monkeypatch.setattr(sqlite3, "connect", connect)
                with Ledger(path) as other:
                    assert other.unknown() == []
            return super().execute(statement, *arguments)

    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Connection))
    with Ledger(path) as ledger:
        assert ledger.unknown() == []


def test_only_files_of_owners_are_removed(path: str) -> None:
    names = [f"calls.db-{'0' * 32}.owner", f"calls.db-old-{'0' * 32}.owner", "calls.db-our.owner"]
    for name in [*names, names[0] + "-journal"]:
        Path(path).with_name(name).touch()
    with Ledger(path) as ledger:
        assert ledger.unknown() == []
    assert sorted(os.listdir(os.path.dirname(path))) == [
        "calls.db",
        "calls.db-old-" + "0" * 32 + ".owner",
        "calls.db-our.owner",
    ]


def spoil_head(path: str) -> None:
    Path(path).write_bytes(b"no database" * 1000)


def of_another_program(path: str) -> None:
    os.remove(path)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE mine (value TEXT)")


def of_a_later_version(path: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 2")


def a_folder(path: str) -> None:
    os.remove(path)
    os.mkdir(path)


def read_only(path: str) -> None:
    os.chmod(path, 0o400)


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (spoil_head, "file is not a database"),
        (of_another_program, "another SQLite database"),
        (of_a_later_version, "a ledger of version 2, not 1"),
        (a_folder, "not a file"),
        (read_only, "a read-only file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_nothing_is_sent(
    service: Service, path: str, spoil: Callable[[str], None], found: str
) -> None:
    with VoiceClient(environ=service.environ(), ledger=path) as client:
        create_once(client)
    spoil(path)
    for call in (create_once, create_in_batch):
        error = only(outcome_on("threads", call, environ=service.environ(), ledger=path))
        assert type(error) is ConfigurationProblem
        assert str(error).startswith(f"ledger: found {path}: ")
        assert found in str(error)
    with pytest.raises(ConfigurationProblem, match="ledger: found"):
        Ledger(path).unknown()
    assert os.listdir(os.path.dirname(path)) == ["calls.db"]
    if spoil is of_another_program:  # which is left as it is
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert len(service.requests) == 1


@posix
def test_on_a_full_disk_nothing_is_sent(service: Service, path: str) -> None:
    code = f"""
        import resource
        client = VoiceClient(ledger={path!r})
        client.dockets.create(**DOCKET, once="0")
        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, resource.RLIM_INFINITY))
        for n in range(1, 1_000):
            try:
                client.dockets.create(**DOCKET, once=str(n))
            except ConfigurationProblem as error:
                print(n, error)
                break
    """
    refused, _, error = finished(service, code).partition(" ")
    assert error.startswith("ledger: found")
    assert len(service.requests) == int(refused)


def test_an_event_loop_goes_on_while_others_lock_the_ledger_that_is_closed(
    service: Service, path: str
) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        for _ in range(20):
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def main() -> None:
        unused = AsyncVoiceClient(environ=service.environ(), ledger=path)
        await unused.aclose()
        client = AsyncVoiceClient(environ=service.environ(), ledger=path)
        await create_once(client)
        assert client.ledger is not None
        lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN IMMEDIATE")
        client.ledger.observe(["any"], DOCKET_ID, "1", None)
        threading.Timer(1, lock.close).start()
        await asyncio.gather(tick(), client.aclose())
        assert client.ledger._database is None

    asyncio.run(main())
    assert max(later - tick for tick, later in itertools.pairwise(ticks)) < 0.5


@posix
def test_a_fork_waits_for_what_the_ledger_writes(path: str) -> None:
    with Ledger(path) as ledger:
        assert ledger.unknown() == []
        lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN IMMEDIATE")
        ledger.observe(["any"], DOCKET_ID, "1", None)
        time.sleep(0.1)  # it waits for the lock
        threading.Timer(0.3, lock.close).start()
        child = os.fork()
        if child == 0:
            is_right = False
            try:
                is_right = ledger.get(KEY) is Ledger(path).get(KEY) is None
            finally:
                os._exit(0 if is_right else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ledger.unknown() == []


class Interrupted(BaseException): ...


@posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_a_fork_that_was_interrupted_as_it_waited_the_ledger_goes_on(path: str) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Ledger(path) as ledger:
            assert ledger.unknown() == []
            with locked(path):
                ledger.observe(["any"], DOCKET_ID, "1", None)
                time.sleep(0.1)  # it waits for the lock
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                child = os.fork()
                if child == 0:
                    is_refused = False
                    try:
                        ledger.get(KEY)
                    except ConfigurationProblem as error:
                        is_refused = "was forked while the file was in use" in str(error)
                    finally:
                        os._exit(0 if is_refused else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert ledger.unknown() == []
    finally:
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize(
    "damage", ["begun_ms = 'long ago'", "key = CAST(x'ff' AS TEXT)", "state = 'begun', claim = 7"]
)
def test_an_entry_that_cannot_be_read_harms_no_other_one(
    path: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    claims = [Claim(key, "dockets.create-docket-v2", [("agent_id", "7")]) for key in ("bad", KEY)]
    found: list[Any] = []
    with Ledger(path) as ledger:
        for claim in claims:
            ledger.claim(claim, found.append)
        ledger.record(claims[0], "unknown", None, "lost", lambda: None)
        assert ledger.get("bad") is not None
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute(f"UPDATE creates SET {damage} WHERE key = 'bad'")
        with locked(path):
            ledger.claim(claims[0], found.append)  # is committed with the record
            ledger.record(claims[1], "unknown", None, "lost", lambda: None)
        assert KEY in [entry.key for entry in ledger.unknown()]
    json.dumps(found, ensure_ascii=False).encode()  # what the core can read


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed")
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_ledger_whose_file_is_removed_or_replaced_takes_no_more_keys(
    service: Service, path: str, is_replaced: bool
) -> None:
    with VoiceClient(environ=service.environ(), ledger=path) as client:
        create_once(client)
        os.rename(path, path + "-old")
        if is_replaced:
            with Ledger(path) as other:
                assert other.unknown() == []
        for _ in range(2):
            with pytest.raises(ConfigurationProblem, match="it was removed or replaced while it"):
                create_once(client, once="2")
    assert len(service.requests) == 1
    assert os.path.exists(path) == is_replaced
