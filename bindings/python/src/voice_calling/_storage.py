"""The keys of creates, as the core has them written: to the file of a `Ledger`, or to a storage of
the user's own."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, TypeAlias

from . import _workers
from ._conversion import encode_integer, encode_text, given
from ._errors import described, named
from ._log import log

__all__ = ["LedgerClaim", "LedgerFound", "LedgerState", "LedgerStorage"]

_END_TIMEOUT_S = 30.0
"""How long the end of the process waits for a storage of the user's own."""

ID_MEMBERS = {"agents": "agent_id", "calls": "task_id", "dockets": "docket_id"}
"""The member of an answer that identifies what was created, by the group of the function."""

LEDGERS: weakref.WeakSet[Keys] = weakref.WeakSet()
"""Those of this process."""

Change: TypeAlias = Callable[[Any], Any]
"""What is done with a `LedgerStorage`, or the entries of a file."""


class LedgerState(StrEnum):
    """The state of a key in a ledger."""

    BEGUN = "begun"
    """The create is in progress."""
    DONE = "done"
    """It succeeded. A call with the key returns the recorded answer, and sends nothing."""
    UNKNOWN = "unknown"
    """It may have been carried out: its outcome is not known, or its process ended before it was.
    A call with the key raises `OutcomeUnknown`, and sends nothing."""
    FREE = "free"
    """It was certainly not carried out. A call with the key sends."""


class Claim:
    """A create with a key."""

    def __init__(self, key: str, function: str, arguments: list[tuple[str, str]]) -> None:
        self.key = key
        self.function = function
        """By the core's name."""
        self.arguments = arguments
        """Their names and values, as canonical JSON."""
        self.name = ""
        """Identifies it in the ledger, once its key was taken."""


class Keys(ABC):
    """The keys of creates in a storage. A worker makes all changes, in their order."""

    _most_at_once: int = sys.maxsize
    """How many changes are written together."""

    def __init__(self) -> None:
        self._reset()
        LEDGERS.add(self)

    def _reset(self) -> None:
        # Reentrant, since garbage collection may end a call in a thread that holds it.
        self._lock = threading.RLock()
        """Guards `_is_writing`."""
        self._write_lock = threading.RLock()
        """Held while changes are made."""
        self._changes: deque[tuple[Change, Future[Any]]] = deque()
        """Those that are made next."""
        self._is_writing = False
        self._open_claims: set[str] = set()
        """The names of the claims that this process is to record: a child of a fork has none of its
        parent's."""

    # ------------------------------------------------------------------------------ for drivers

    def claim(self, claim: Claim, on_answer: Callable[[Any], None]) -> None:
        """Writes that a create is begun, unless its key has an entry that is not free. Calls back,
        in any thread, with `None` if the key was taken, or else with what was found, in the JSON of
        the core."""

        def change(storage: LedgerStorage) -> Any:
            arguments = dict(claim.arguments)
            taken = LedgerClaim(key=claim.key, function=claim.function, arguments=arguments)
            found = storage.claim(taken)
            if not found or not isinstance(found, (str, LedgerFound)):
                raise TypeError(f"found {described(found)}; allowed: a name, or a LedgerFound")
            if isinstance(found, str):
                claim.name = found
                self._open_claims.add(found)
                return None
            # Checked, since what the core cannot read would end all that goes on.
            entry = {
                "function": encode_text(found.function, "function"),
                "state": LedgerState(found.state).value,
                "begun_ms": encode_integer(round(found.begun_at.timestamp() * 1000), "begun_at", 0),
                **given(encode_text, {"answer": found.answer, "differs_in": found.differs_in}),
            }
            return {"Entry": entry}

        def end(begun: Future[Any]) -> None:
            if (error := begun.exception()) is None:
                on_answer(begun.result())
            else:
                self._open_claims.discard(claim.name)
                on_answer({"Failed": self._reason(error)})

        self._submit(change).add_done_callback(end)

    def record(
        self,
        claim: Claim,
        state: str,
        answer: str | None,
        message: str | None,
        on_end: Callable[[], None],
    ) -> None:
        """Writes how a create has ended, if its key was taken. Calls back, in any thread, when that
        is on the disk, or cannot be written."""

        def change(storage: LedgerStorage) -> None:
            if claim.name in self._open_claims:
                storage.record(claim.key, claim.name, LedgerState(state), answer, message)

        def end(written: Future[Any]) -> None:
            self._open_claims.discard(claim.name)  # if it failed, too: then it is unknown
            try:
                if written.exception() is not None:
                    created_id = id_in_answer(claim.function, answer)
                    created = "" if created_id is None else f" (it has created {created_id})"
                    what = f"how the create with the key {claim.key!r} ended{created}"
                    self._report_failure(what, written)
            finally:  # the create waits for it
                on_end()

        self._submit(change).add_done_callback(end)

    def observe(
        self, keys: list[str], docket_id: str, to_phone_number: str, created_day: int | None
    ) -> None:
        """Resolves what is unknown by a docket that may have one of these keys. Its phone number is
        canonical JSON."""

        def change(storage: LedgerStorage) -> None:
            storage.observe(keys, docket_id, to_phone_number, created_day)

        what = f"that docket {docket_id} was seen"
        self._submit(change).add_done_callback(partial(self._report_failure, what))

    @abstractmethod
    def close(self) -> None:
        """Ends the use of the storage, after all that is recorded."""

    def after_fork_in_child(self) -> None:
        """Leaves everything to the parent."""
        self._reset()

    # ------------------------------------------------------------------------------ the changes

    @abstractmethod
    def _reason(self, error: BaseException) -> str:
        """Returns what users read of an error of the storage."""

    @abstractmethod
    def _write(self, changes: list[Change]) -> list[Any]:
        """Makes changes, and returns what each has returned, or why it was not made."""

    def _submit(self, change: Change) -> Future[Any]:
        ended: Future[Any] = Future()
        self._changes.append((change, ended))
        with self._lock:
            if self._is_writing:
                return ended
            self._is_writing = True
        try:
            _workers.WORKERS.submit(self._write_all)
        except RuntimeError:  # no thread can be started
            self._write_all()
        except BaseException:  # Ctrl-C; two workers at once write in order all the same
            _workers.WORKERS.submit(self._write_all)
            raise
        return ended

    def _write_all(self) -> None:
        """Makes all changes, those that came meanwhile together."""
        while True:
            with self._lock:
                if not self._changes:
                    self._is_writing = False
                    return
            with self._write_lock:
                count = min(len(self._changes), self._most_at_once)
                taken = [self._changes.popleft() for _ in range(count)]
                outcomes = self._write([change for change, _ in taken]) if taken else []
            for (_, ended), outcome in zip(taken, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    ended.set_exception(outcome)
                else:
                    ended.set_result(outcome)

    def _wait_until_written(self, timeout: float | None = None) -> None:
        """Waits for all changes so far."""
        with self._lock:
            is_idle = not (self._changes or self._is_writing)
        if not is_idle:
            wait([self._submit(lambda _: None)], timeout)

    def _report_failure(self, what: str, written: Future[Any]) -> None:
        """Logs what could not be written. Its entry is unknown from now on."""
        if (error := written.exception()) is not None:
            message = "%s could not be recorded in the ledger %s"
            log(logging.ERROR, message, what, self._reason(error))


def id_in_answer(function: str, answer: str | None) -> Any:
    """Returns the id of what a function has created; `None` if the answer has none."""
    parsed = None
    with contextlib.suppress(ValueError, RecursionError):  # a damaged one hides only its id
        parsed = json.loads(answer or "null")
    member = ID_MEMBERS.get(function.partition(".")[0])
    return parsed.get(member) if isinstance(parsed, dict) else None


# ----------------------------------------------------------------- a storage of the user's own


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerClaim:
    """A create that is about to be sent."""

    key: str
    """The key, as it was given as `once`."""

    function: str
    """The function, such as `dockets.create-docket-v2`."""

    arguments: Mapping[str, str]
    """The arguments by their names. Values that mean the same are the same text. They have phone
    numbers: store a keyed digest of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFound:
    """The entry of a key that is not free."""

    function: str
    """The function of the claim that has it."""

    state: LedgerState
    """`BEGUN` only if the process that began it lives; otherwise `UNKNOWN`."""

    begun_at: datetime
    """When that claim was taken."""

    answer: str | None = None
    """As it was recorded."""

    differs_in: str | None = None
    """The first argument that differs from that of the new claim."""


class LedgerStorage(Protocol):
    """What a client needs of a storage of your own, such as a table in PostgreSQL. The methods are
    called in threads of the package, one at a time. They return when what they write is on the
    disk: a create is sent after its claim."""

    def claim(self, claim: LedgerClaim) -> str | LedgerFound:
        """Takes a key that has no entry, or one that is free: it is `BEGUN` from now on. Returns a
        name for the claim, which no other one has, or the entry of the key. If it raises, nothing
        is sent, and the create ends in `ConfigurationProblem`."""
        ...

    def record(
        self, key: str, claim: str, state: LedgerState, answer: str | None, message: str | None
    ) -> None:
        """Writes how a create has ended, if the entry of its key is that of the claim with this
        name, and is `BEGUN` or `UNKNOWN`: `DONE` with an answer, which is JSON, or `UNKNOWN` or
        `FREE` with the message of an error. `DONE` also counts if the entry was released, or
        resolved by a docket, meanwhile. What it raises is logged, and the key is `UNKNOWN` once
        the process has ended."""
        ...

    def observe(
        self, keys: Sequence[str], docket_id: str, to_phone_number: str, created_day: int | None
    ) -> None:
        """Notes a docket that was fetched or verified. It resolves the entries of these keys that
        are `UNKNOWN`, are of a function of `dockets`, have this argument `to_phone_number`, and
        were begun at the latest on the day after its `created_day`, which is counted from 1970, and
        without which it resolves nothing: they are `DONE` with the answer `{"docket_id": …}`."""
        ...


class Storage(Keys):
    """The keys of creates in a storage of the user's own."""

    _most_at_once = 1

    def __init__(self, storage: LedgerStorage) -> None:
        super().__init__()
        self._storage = storage

    def close(self) -> None:
        self._wait_until_written(_END_TIMEOUT_S)

    def _reason(self, error: BaseException) -> str:
        return f"{type(self._storage).__name__}: {named(error)}"

    def _write(self, changes: list[Change]) -> list[Any]:
        (change,) = changes
        try:
            return [change(self._storage)]
        except BaseException as error:  # whatever it is, someone waits for an answer
            return [error]
