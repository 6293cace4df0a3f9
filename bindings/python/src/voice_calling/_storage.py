"""A user's own storage in place of the file of a `Ledger`."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from . import _workers
from ._ledger import LEDGERS, RECORD_PAUSES_S, Claim, LedgerState
from ._log import log

__all__ = ["LedgerClaim", "LedgerFound", "LedgerStorage"]

_CLOSE_TIMEOUT_S = 30.0


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
    called in threads of the package, one at a time and in their order. They return when what they
    write is on the disk: a create is sent after its claim."""

    waits_in_progress: bool
    """As the option `wait_in_progress` of `Ledger`."""

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
        resolved by a docket, meanwhile. What raises is called again for a second, and then
        logged."""
        ...

    def observe(self, keys: Sequence[str], docket_id: str, to_phone_number: str) -> None:
        """Notes a docket that was fetched or verified. It resolves the entries of these keys that
        are `UNKNOWN`, are of a function of `dockets`, and have this argument `to_phone_number`:
        they are `DONE` with the answer `{"docket_id": …}`."""
        ...


class Storage:
    """Does for the core with a storage what a `Ledger` does with its file."""

    def __init__(self, storage: LedgerStorage) -> None:
        self._storage = storage
        self._reset()
        LEDGERS.add(self)

    def _reset(self) -> None:
        # Reentrant, since garbage collection may end a call in a thread that holds it.
        self._lock = threading.RLock()
        self._jobs: deque[Callable[[], None]] = deque()
        self._is_working = False

    @property
    def waits_in_progress(self) -> bool:
        return bool(self._storage.waits_in_progress)

    def claim(self, claim: Claim, on_answer: Callable[[Any], None]) -> None:
        def write() -> None:
            answer: dict[str, Any] | None = None
            try:
                found = self._storage.claim(
                    LedgerClaim(
                        key=claim.key, function=claim.function, arguments=dict(claim.arguments)
                    )
                )
                if isinstance(found, str):
                    claim.name = found
                else:
                    answer = {
                        "Entry": {
                            "function": found.function,
                            "state": str(found.state),
                            "begun_ms": int(found.begun_at.timestamp() * 1000),
                            "answer": found.answer,
                            "differs_in": found.differs_in,
                        }
                    }
            except BaseException as error:  # whatever it is, the caller waits for an answer
                answer = {"Failed": self._described(error)}
            on_answer(answer)

        self._submit(write)

    def record(
        self,
        claim: Claim,
        state: str,
        answer: str | None,
        message: str | None,
        on_end: Callable[[], None],
    ) -> None:
        def write() -> None:
            if claim.name:
                given = (claim.key, claim.name, LedgerState(state), answer, message)
                what = f"how the create with the key {claim.key!r} ended ({answer or message})"
                self._try(what, lambda: self._storage.record(*given))
            on_end()

        self._submit(write)

    def observe(self, keys: list[str], docket_id: str, to_phone_number: str) -> None:
        what = f"that docket {docket_id} was seen"
        self._submit(
            lambda: self._try(what, lambda: self._storage.observe(keys, docket_id, to_phone_number))
        )

    def _try(self, what: str, write: Callable[[], None]) -> None:
        """Writes, several times if need be. Logs what cannot be written."""
        for pause_s in (*RECORD_PAUSES_S, None):
            try:
                return write()
            except BaseException as error:  # whatever it is, others wait for their turn
                if pause_s is None:
                    message = "%s could not be recorded in the ledger: %s"
                    log(logging.ERROR, message, what, self._described(error))
                else:
                    time.sleep(pause_s)

    def _described(self, error: BaseException) -> str:
        return f"{type(self._storage).__name__}: {type(error).__name__}: {error}"

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._is_working:
                return
            self._is_working = True
        try:
            _workers.WORKERS.submit(self._work)
        except RuntimeError:  # no thread can be started
            self._work()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._is_working = False
                    return
                job = self._jobs.popleft()
            job()

    def close(self) -> None:
        """Waits until all is written, at the end of the process."""
        if self._is_working:
            written = threading.Event()
            self._submit(written.set)
            written.wait(_CLOSE_TIMEOUT_S)

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None:
        """Leaves everything to the parent."""
        self._reset()
