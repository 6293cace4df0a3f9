"""A ledger: which creates were begun, and how they ended. It outlives the process, so that a
program that was killed can be run again, and calls no one twice. The core decides what an entry
means; here it is stored."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import json
import logging
import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from ._conversion import encode_integer, encode_text, method_name
from ._errors import RequestError, configuration_problem, described, invalid_input, named, passable
from ._log import log
from ._storage import (
    ID_MEMBERS,
    Change,
    Keys,
    LedgerClaim,
    LedgerFound,
    LedgerState,
    id_in_answer,
)
from ._values import Record

__all__ = ["Ledger", "LedgerEntry"]

_APPLICATION_ID = 0x564F4943
"""Marks a SQLite database as a ledger: `VOIC`."""

_VERSION = 1

_BUSY_TIMEOUT_S = 30.0
"""How long a transaction waits for those of other processes."""

_IS_OPEN = "state IN ('begun', 'unknown')"
"""What the index is for: these are few. SQLite uses it for queries with the same words."""

_SCHEMA = f"""
CREATE TABLE digest_key (value BLOB NOT NULL);
CREATE TABLE creates (
    key TEXT PRIMARY KEY,
    function TEXT NOT NULL,
    digests TEXT NOT NULL,      -- of each argument, as an object of JSON
    state TEXT NOT NULL,        -- begun, done, unknown, free
    claim TEXT NOT NULL,        -- owner/number: the process that began it last
    begun_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    answer TEXT,                -- of a create that is done, in the JSON of the core
    message TEXT,               -- of the error that a create ended in
    resolved_by TEXT
) WITHOUT ROWID;
CREATE INDEX by_state ON creates (state) WHERE {_IS_OPEN};
"""

_BEGIN = """
INSERT INTO creates (key, function, digests, state, claim, begun_ms) VALUES (?, ?, ?, 'begun', ?, ?)
ON CONFLICT (key) DO UPDATE SET
    function = excluded.function, digests = excluded.digests, state = excluded.state,
    claim = excluded.claim, begun_ms = excluded.begun_ms,
    ended_ms = NULL, answer = NULL, message = NULL, resolved_by = NULL
WHERE state = 'free'
"""

_END = """
UPDATE creates SET state = ?, ended_ms = ?, answer = ?, message = ?, resolved_by = NULL
WHERE key = ? AND claim = ? AND (
    state IN ('begun', 'unknown')
    OR ? = 'done' AND (state = 'free' OR state = 'done' AND resolved_by = 'docket')
)
"""
"""An outcome that others took for unknown may still come. The answer of the service counts more
than a docket that was seen."""

_DAY_MS = 86_400_000

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Record):
    """A key of a ledger."""

    key: str
    """The key, as it was given as `once`."""

    function: str
    """The method, such as `dockets.create`."""

    state: LedgerState
    """The state."""

    begun_at: datetime
    """When a create with the key was begun last, by the clock of its machine."""

    ended_at: datetime | None = None
    """When it ended, or was resolved."""

    created_id: str | int | None = None
    """The id of what was created, if that is known."""

    message: str | None = None
    """The error that it ended in."""

    resolved_by: str | None = None
    """Who or what resolved it: as given to `resolve` or `release`, or `docket` for a docket that
    was fetched or verified."""


T = TypeVar("T")


class Ledger(Keys):
    """A file with the keys of creates and what became of them, for any number of clients, threads
    and processes of one machine.

    >>> import os, tempfile
    >>> from voice_calling.testing import ScriptedService
    >>> path = os.path.join(tempfile.mkdtemp(), "calls.db")
    >>> service = ScriptedService()
    >>> request = dict(agent_id=7, to_phone_number="910000000000", call_context={})
    >>> with service.client(ledger=path) as client:
    ...     first = client.dockets.create(**request, once="crm-1001")
    >>> with service.client(ledger=path) as client:  # the program is run again
    ...     again = client.dockets.create(**request, once="crm-1001")
    >>> again.docket_id == first.docket_id, again.from_ledger, len(service.requests)
    (True, True, 1)

    The file is a SQLite database, readable and writable by its owner alone, on a local disk. It has
    keys, times, and of each answer the id and the status; arguments, phone numbers among them, only
    as digests that are keyed by a random key of the file. A file that cannot be used is a
    `ConfigurationProblem`, and nothing is sent. Restoring a copy forgets what was called since.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise configuration_problem(
                "ledger", described(path), "a path, a Ledger, or a LedgerStorage"
            )
        self._path = os.path.realpath(os.fspath(path))
        super().__init__()

    def _reset(self) -> None:
        super()._reset()
        self._database: sqlite3.Connection | None = None
        self._presence: _Presence | None = None
        self._digest_key = b""

    # -------------------------------------------------------------------------------- for users

    def get(self, key: str) -> LedgerEntry | None:
        """The entry of a key; `None` if it has none."""
        encode_text(key, "key")

        def change(entries: _Entries) -> LedgerEntry | None:
            row = entries.row(key)
            return None if row is None else _entry(row)

        return self._commit(change)

    def unknown(self) -> list[LedgerEntry]:
        """The entries whose outcome is not known, the oldest first. One that is damaged is left
        out, with a warning."""

        def readable(entries: _Entries, row: Any) -> LedgerEntry | None:
            try:
                return _entry(entries.current(row))
            except sqlite3.Error:
                raise
            except Exception as error:
                message = "the entry with the key %a of the ledger %s cannot be read: %s"
                log(logging.WARNING, message, row["key"], self._path, named(error))
                return None

        def change(entries: _Entries) -> list[LedgerEntry]:
            query = f"SELECT * FROM creates WHERE {_IS_OPEN} ORDER BY begun_ms, key"
            rows = entries.database.execute(query).fetchall()
            listed = [readable(entries, row) for row in rows]
            return [it for it in listed if it and it.state is LedgerState.UNKNOWN]

        return self._commit(change)

    def resolve(self, key: str, created_id: str | int, *, by: str) -> LedgerEntry:
        """Notes what a create whose outcome was unknown has created: the id of the docket, task or
        agent. `by`: who made sure of it."""
        return self._resolve(key, LedgerState.DONE, created_id, by)

    def release(self, key: str, *, by: str) -> LedgerEntry:
        """Notes that a create whose outcome was unknown has created nothing, so that the next call
        with the key is sent. `by`: who made sure of it."""
        return self._resolve(key, LedgerState.FREE, None, by)

    def prune(self, *, done_before: datetime) -> int:
        """Forgets the entries that were done before this time, and returns how many. A call with
        such a key is sent again. Nothing is forgotten otherwise."""
        if not isinstance(done_before, datetime):
            raise invalid_input("done_before", described(done_before), "a datetime")
        until_ms = int(done_before.timestamp() * 1000)
        delete = "DELETE FROM creates WHERE state = 'done' AND ended_ms < ?"
        return self._commit(lambda it: it.database.execute(delete, (until_ms,)).rowcount)

    def close(self) -> None:
        """Closes the file, after all that is recorded. It is opened again when it is used again."""
        self._wait_until_written()
        with self._write_lock:
            # While there are claims, others must see that this process lives.
            self._close_files(ends_presence=not self._open_claims)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Closes the connections: nothing uses them any more."""
        with contextlib.suppress(Exception):
            self._close_files(ends_presence=True)

    def _close_files(self, *, ends_presence: bool) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()
        if ends_presence and self._presence is not None:
            presence, self._presence = self._presence, None
            presence.end()

    def __repr__(self) -> str:
        return f"Ledger({self._path!r})"

    def _resolve(
        self, key: str, state: LedgerState, created_id: str | int | None, by: str
    ) -> LedgerEntry:
        encode_text(key, "key")
        if not encode_text(by, "by"):
            raise invalid_input("by", "an empty text", "who made sure of it")

        def change(entries: _Entries) -> LedgerEntry:
            row = entries.row(key)
            found = "no entry" if row is None else f"an entry that is {row['state']}"
            if row is None or row["state"] != "unknown":
                raise invalid_input("key", found, "the key of an entry that is unknown")
            answer = None
            if state is LedgerState.DONE:
                answer = _answer(ID_MEMBERS[row["function"].partition(".")[0]], created_id)
            entries.settle(key, state, answer, by)
            return _entry(entries.row(key))

        return self._commit(change)

    # -------------------------------------------------------------------------------- the process

    def before_fork(self) -> None:
        """Closes the file, since a child of a process that has it open cannot lock it."""
        self._write_lock.acquire()
        self._close_files(ends_presence=False)

    def after_fork_in_parent(self) -> None:
        with contextlib.suppress(RuntimeError):  # another thread has it: the wait was interrupted
            self._write_lock.release()

    def after_fork_in_child(self) -> None:
        """Leaves everything to the parent."""
        global _creating
        _creating = threading.Lock()
        if self._presence is not None:
            _INHERITED.append(self._presence)
        if self._database is not None:  # the wait for its lock was interrupted
            _OPEN_IN_PARENT[self._path] = self._database
        super().after_fork_in_child()

    # --------------------------------------------------------------------------------- the file

    def _commit(self, change: Callable[[_Entries], T]) -> T:
        """Commits a change, and waits for it."""
        try:
            ended: Future[T] = self._submit(change)
            return ended.result()
        except RequestError:
            raise
        except Exception as error:
            allowed = (
                "a file of a ledger, or a path where one can be created, on a local disk with room"
            )
            raise configuration_problem("ledger", self._reason(error), allowed) from error

    def _write(self, changes: list[Change]) -> list[Any]:
        """Commits changes together."""
        outcomes: list[Any] = []
        try:
            database = self._database or self._open()
            database.execute("BEGIN IMMEDIATE")
            try:
                assert self._presence is not None
                self._presence.check_ledger()
                entries = _Entries(database, self._presence, self._digest_key, self._open_claims)
                for change in changes:
                    try:
                        outcomes.append(change(entries))
                    except sqlite3.Error:
                        raise
                    except Exception as error:  # it has changed nothing
                        outcomes.append(error)
                database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise
        except Exception as error:
            return [error] * len(changes)
        return outcomes

    def _open(self) -> sqlite3.Connection:
        if self._path in _OPEN_IN_PARENT:
            raise OSError("the process was forked while the file was in use")
        for presence in _INHERITED:
            presence.close()
        if self._presence is not None:
            self._presence.check_ledger()
        _create_private(self._path)
        _check_file(self._path)
        database = sqlite3.connect(
            self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            database.row_factory = sqlite3.Row
            # Text that is not UTF-8 fails the change that uses it, not the whole transaction.
            database.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            # Before anything of another database is changed, or written that others could read.
            if _is_new(database):
                os.chmod(self._path, os.stat(self._path).st_mode & 0o600)
            (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise sqlite3.OperationalError(f"the journal mode {mode}, not WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            if _is_new(database):
                _create_tables(database)
            (self._digest_key,) = database.execute("SELECT value FROM digest_key").fetchone()
            if self._presence is None:
                _Presence.remove_stale(self._path)
                self._presence = _Presence(self._path)
            database.execute("COMMIT")
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def _reason(self, error: BaseException) -> str:
        return passable(f"{self._path}: {error}")


_numbers = itertools.count(1)
"""Of the claims of this process."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of a file, within a transaction."""

    database: sqlite3.Connection
    presence: _Presence
    digest_key: bytes
    open_claims: set[str]

    def claim(self, claim: LedgerClaim) -> str | LedgerFound:
        name = f"{self.presence.name}/{next(_numbers)}"
        digests = {
            it: self._digest(claim.function, it, claim.arguments[it]) for it in claim.arguments
        }
        entry = (claim.key, claim.function, json.dumps(digests), name, _now_ms())
        if self.database.execute(_BEGIN, entry).rowcount == 1:
            return name
        row = self.row(claim.key)
        known = json.loads(row["digests"])
        differing = [it for it in {**digests, **known} if digests.get(it) != known.get(it)]
        return LedgerFound(
            function=row["function"],
            state=LedgerState(row["state"]),
            begun_at=_time(row["begun_ms"]),
            answer=row["answer"],
            differs_in=differing[0] if differing else None,
        )

    def record(
        self, key: str, claim: str, state: LedgerState, answer: str | None, message: str | None
    ) -> None:
        ended = (state.value, _now_ms(), answer, message, key, claim, state.value)
        self.database.execute(_END, ended)

    def observe(
        self, keys: Iterable[str], docket_id: str, to_phone_number: str, created_day: int | None
    ) -> None:
        for key in set(keys):
            row = self.row(key)
            if row is None or row["state"] != "unknown":
                continue
            # One that was created before the create was begun is another one. The service's time
            # has no zone, hence a day more.
            if created_day is None or created_day + 1 < row["begun_ms"] // _DAY_MS:
                continue
            function: str = row["function"]
            known = json.loads(row["digests"]).get("to_phone_number")
            number = self._digest(function, "to_phone_number", to_phone_number)
            if function.startswith("dockets.") and known == number:
                self.settle(key, LedgerState.DONE, json.dumps({"docket_id": docket_id}), "docket")

    def settle(self, key: str, state: LedgerState, answer: str | None, by: str) -> None:
        """Resolves an entry."""
        self.database.execute(
            "UPDATE creates SET state = ?, ended_ms = ?, answer = ?, resolved_by = ? WHERE key = ?",
            (state.value, _now_ms(), answer, by, key),
        )

    def row(self, key: str) -> Any:
        """Returns the entry of a key as it is now."""
        query = "SELECT * FROM creates WHERE key = ?"
        return self.current(self.database.execute(query, (key,)).fetchone())

    def current(self, row: Any) -> Any:
        """Returns an entry as it is now: one that was begun by a process that is gone is
        unknown."""
        if row is None or row["state"] != "begun" or self._is_in_progress(row["claim"]):
            return row
        unknown = "UPDATE creates SET state = 'unknown' WHERE key = ?"
        self.database.execute(unknown, (row["key"],))
        return {**dict(row), "state": "unknown"}

    def _is_in_progress(self, claim: str) -> bool:
        if claim in self.open_claims:
            return True
        owner, _, _ = claim.partition("/")
        return owner != self.presence.name and self.presence.is_present(owner)

    def _digest(self, function: str, name: str, value: str) -> str:
        text = f"{function}\0{name}\0{value}"
        return hmac.digest(self.digest_key, text.encode(), "sha256").hex()[:32]


class _Presence:
    """A file that is locked for as long as this process lives, so that others can see whether it
    does. SQLite does that in the same way on all systems and in all languages. Such files come and
    go within transactions of the ledger. A fork leaves the lock to the parent."""

    def __init__(self, ledger: str) -> None:
        self.name = uuid4().hex
        self._ledger = ledger
        self._ledger_id = _file_id(ledger)
        _create_private(self._path(self.name))
        # Without a journal, which the child of a fork would remove when it closes its copy.
        self._database = _locked(self._path(self.name), journal_mode="OFF")

    def _path(self, name: str) -> str:
        return f"{self._ledger}-{name}.owner"

    def check_ledger(self) -> None:
        """Raises an error if the path is no longer that of the file that was opened."""
        if _file_id(self._ledger) != self._ledger_id:
            raise OSError("it was removed or replaced while it was open")

    def is_present(self, name: str) -> bool:
        """Returns `True` if the process with this name lives. Otherwise its file is removed."""
        return _is_locked(self._path(name))

    @staticmethod
    def remove_stale(ledger: str) -> None:
        """Removes the files of processes that are gone."""
        folder, ledger_name = os.path.split(ledger)
        own = re.compile(re.escape(ledger_name) + "-[0-9a-f]{32}\\.owner")
        for name in filter(own.fullmatch, os.listdir(folder)):
            _is_locked(os.path.join(folder, name))

    def close(self) -> None:
        """Unlocks the file. In the child of a fork this leaves the lock of the parent alone."""
        self._database.close()

    def end(self) -> None:
        self.close()
        with contextlib.suppress(OSError):
            os.remove(self._path(self.name))


_INHERITED: list[_Presence] = []
"""Copies of what the parents of this process have locked. SQLite takes these files for locked until
the copies are closed. That is done when a ledger is opened and not at the fork: a thread of the
parent may have held a mutex of SQLite then, and the child would hang."""


_OPEN_IN_PARENT: dict[str, sqlite3.Connection] = {}
"""Databases that a parent of this process had open at the fork. They are never closed here."""


def _locked(path: str, *, journal_mode: str = "DELETE") -> sqlite3.Connection:
    """Locks a file, or raises `sqlite3.OperationalError`."""
    database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        database.execute(f"PRAGMA journal_mode = {journal_mode}")
        database.execute("BEGIN EXCLUSIVE")
    except BaseException:
        database.close()
        raise
    return database


def _is_locked(path: str) -> bool:
    """Returns `True` if another connection has locked a file. Otherwise it is removed."""
    if not os.path.exists(path):
        return False
    try:
        _locked(path).close()
    except sqlite3.OperationalError:
        return True
    with contextlib.suppress(OSError):
        os.remove(path)
    return False


def _is_new(database: sqlite3.Connection) -> bool:
    """Returns `True` if the database has no tables. Raises an error if it is no ledger of this
    version."""
    # The tables first: another process may create them meanwhile, and sets the others with them.
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0:
        return True
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise sqlite3.DatabaseError("another SQLite database")
    if version != _VERSION:
        raise sqlite3.DatabaseError(f"a ledger of version {version}, not {_VERSION}")
    return False


def _create_tables(database: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";"):
        database.execute(statement)
    database.execute("INSERT INTO digest_key VALUES (?)", (secrets.token_bytes(32),))
    database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _file_id(path: str) -> tuple[int, int] | None:
    """Returns the device and inode of a file; `None` if there is none. The file is not opened."""
    if os.name == "nt":  # where a file that is open cannot be removed
        return None
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


_creating = threading.Lock()


def _create_private(path: str) -> None:
    """Creates a file for its owner alone, unless it exists. No other thread opens it meanwhile:
    each close of a file releases the locks that this process has on it."""
    with _creating, contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _check_file(path: str) -> None:
    """Raises an error if it is no file, or read-only: SQLite would read it, and leave files beside
    it that are read-only as well."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise OSError("not a file")
    if not mode & 0o222:
        raise OSError("a read-only file")


def _answer(id_member: str, created_id: object) -> str:
    """Returns an answer that has an id alone, which is checked."""
    if id_member == "agent_id":
        return json.dumps({id_member: encode_integer(created_id, "created_id")})
    text = encode_text(created_id, "created_id")
    if id_member == "docket_id" and not _UUID.fullmatch(text):
        raise invalid_input("created_id", described(text), "a docket_id, which is a UUID")
    if not text:
        raise invalid_input("created_id", "an empty text", "a task_id")
    return json.dumps({id_member: text})


def _entry(row: Any) -> LedgerEntry:
    return LedgerEntry(
        key=row["key"],
        function=method_name(row["function"]),
        state=LedgerState(row["state"]),
        begun_at=_time(row["begun_ms"]),
        ended_at=None if row["ended_ms"] is None else _time(row["ended_ms"]),
        created_id=id_in_answer(row["function"], row["answer"]),
        message=row["message"],
        resolved_by=row["resolved_by"],
    )


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
