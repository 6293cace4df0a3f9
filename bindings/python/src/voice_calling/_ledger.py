"""Ledgers: which creates were begun, and how they ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from ._faces import Blocking, F, Group, event_loop_of, method
from ._native import Ledger as NativeLedger
from ._native import Operation

__all__ = ["Ledger", "LedgerEntry", "LedgerGroup", "Storage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A key of a ledger."""

    key: str
    """The key."""

    function: str
    """What was created: `create_docket_v2` of `dockets.create` and batches, `create_docket` of
    `dockets.create_v1`, `make_call`, or `create_agent`."""

    state: Literal["begun", "done", "unknown", "free"]
    """`begun`: it is in progress; `done`: it succeeded; `unknown`: it may have been carried out;
    `free`: it was certainly not carried out, and is sent again."""

    begun_at: datetime
    """When a create with the key was last begun, by the clock of its machine."""

    ended_at: datetime | None
    """When it ended, or was resolved."""

    created_id: str | None
    """The id of what was created, if it is known."""

    message: str | None
    """The message of the error in which it ended."""

    resolved_by: str | None
    """The person that resolved it, or `docket` for a docket that was fetched or verified."""

    @classmethod
    def _of(cls, *, begun_at: float, ended_at: float | None, **fields: Any) -> LedgerEntry:
        """Makes an entry of what the bridge has, whose times are seconds since 1970."""
        end = None if ended_at is None else datetime.fromtimestamp(ended_at, UTC)
        return cls(begun_at=datetime.fromtimestamp(begun_at, UTC), ended_at=end, **fields)


class Storage(Protocol):
    """Your own storage of a ledger. Its methods are called in threads of their own, several at a
    time; or all of them are coroutine functions, which run on the event loop on which `Ledger.on`
    was called. No `VoiceClient` may be used in that loop's own thread then: it waits for the loop.
    """

    def update(self, key: str, change: Callable[[str | None], str | None], /) -> object:
        """Changes the entry of a key, in a transaction that no other change of the key is
        concurrent with: reads the entry, calls `change` with it (`None` if there is none), and
        stores what it returns, unless that is `None`. That must be durable when this method
        returns: a create is sent after its claim. `change` may be called again, if the transaction
        is repeated. After an exception nothing is sent.

        An entry is text, JSON, with neither names nor numbers.

        A storage may have further methods. `entries_after(key)`, for `unknown()`, returns some of
        the entries that follow a key in the order of the keys' bytes, each as `(key, entry)`.
        `prune(done_before_ms)` removes the entries whose `state` is `done` and whose `ended_ms` is
        before that, and returns their number. `is_of_another_key(created_id, key)` returns whether
        the entry of another key has this id in its answer: without it, no docket that is fetched
        resolves an unknown outcome."""


class LedgerGroup(Group[F]):
    """The methods of a ledger. Each raises `ConfigurationError` if its file cannot be used."""

    __slots__ = ()

    _native: NativeLedger

    @method
    def get(self, key: str) -> Operation[LedgerEntry | None]:
        """Returns the entry of a key."""
        return self._native.get_entry(key)

    @method
    def unknown(self) -> Operation[tuple[LedgerEntry, ...]]:
        """Returns the entries with unknown outcomes, the oldest first."""
        return self._native.unknown()

    @method
    def resolve(self, key: str, created_id: str | int, *, by: str) -> Operation[LedgerEntry]:
        """Records what a create with an unknown outcome has created.

        - `created_id`: The id of the docket, task or agent.
        - `by`: The person who made sure of it.

        `InvalidInputError` if the key has no entry with an unknown outcome, or if the id is not
        one of what was created.
        """
        return self._native.resolve(key, str(created_id), by)

    @method
    def release(self, key: str, *, by: str) -> Operation[LedgerEntry]:
        """Records that a create with an unknown outcome has created nothing, so that the next
        create with the key is sent.

        - `by`: The person who made sure of it.

        `InvalidInputError` if the key has no entry with an unknown outcome.
        """
        return self._native.release(key, by)

    @method
    def prune(self, *, done_before: datetime) -> Operation[int]:
        """Removes the entries that were done before this time, and returns their number. A create
        with such a key is sent again.

        - `done_before`: Without a time zone it is local time.
        """
        return self._native.prune(done_before.timestamp())


class Ledger(LedgerGroup[Blocking]):
    """A file with the keys and outcomes of creates, for any number of clients, threads and
    processes of one machine: a create with a key is never sent twice, also if the program is killed
    and run again.

    The file is a SQLite database, readable and writable by its owner only, on a local disk. It
    contains keys and times, and the id and the status of each answer; arguments, phone numbers
    among them, only as digests. It is opened here, or created, and all of it is checked:
    `ConfigurationError` says why it cannot be used. A fork opens it anew.

    The methods wait; those of `AsyncVoiceClient.ledger` are awaited.
    """

    __slots__ = ()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(Blocking, NativeLedger(os.fspath(path)))

    @classmethod
    def on(cls, storage: Storage, secret: bytes) -> Ledger:
        """Returns a ledger on your own storage, such as a database that several machines use.

        - `secret`: The key of the digests that are stored in place of arguments: at least 16 bytes,
          the same for all programs that use the storage, and kept elsewhere.
        """
        ledger = object.__new__(cls)
        native = NativeLedger.on(storage, secret, event_loop_of(storage.update))
        LedgerGroup.__init__(ledger, Blocking, native)
        return ledger

    def close(self) -> None:
        """Closes the file, unless clients still use it. A later call opens it again."""
        self._native.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self._native.place}>"
