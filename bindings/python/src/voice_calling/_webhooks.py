"""The webhook, for handlers that have no client."""

from __future__ import annotations

import atexit
import os
import threading

from . import _guest, _lift, _lower
from ._failures import execution_failed
from ._types import DocketCompleted

_lock = threading.Lock()
_reader: _guest.Guest | None = None


def parse_docket_completed(body: str | bytes | bytearray | memoryview) -> DocketCompleted | None:
    """Reads the body of a webhook delivery (section "Events" of the service's specification). It
    needs no settings and sends nothing. Anyone may send a delivery: use
    `VoiceClient.webhooks.verify` before you trust one.

    - A completed docket is returned. A value in it that has another type than the specified one
      costs only itself.
    - `None`: JSON, but not the completion of a docket. The service mentions call-level webhooks
      too. The completion of a docket is an object with a `docket_id` and evidence that the docket
      is done: `attempts` in which something is neither null nor empty, a text as `dashboard_url` or
      `call_insights.call_disposition`, or the status `COMPLETED`. A status of `OPEN` or
      `IN_PROGRESS` is evidence that it is not.
    - `InvalidInput`: it is not JSON, or the completion of a docket whose `docket_id` is not a
      UUID; or it has more than 1048576 bytes.

    >>> body = '{"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "COMPLETED"}'
    >>> parse_docket_completed(body).docket_id
    '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11'
    >>> parse_docket_completed(b'{"event": "something else"}') is None
    True
    """
    global _reader
    text = _lower.body(body)
    with _lock:
        try:
            reader = _reader or _guest.Guest()
            _reader = None  # one that traps is lost
            read = reader.call("parse_docket_completed", text)
        except (_guest.GuestLost, ImportError) as lost:
            raise execution_failed(str(lost)) from lost
        _reader = None if reader.is_large else reader
    if "Err" in read:
        raise _lift.error(read["Err"], _lower.written)
    completed = read["Ok"]
    return None if completed is None else _lift.record(DocketCompleted)(completed)


def _after_fork() -> None:
    global _lock, _reader
    _lock, _reader = threading.Lock(), None


def _at_exit() -> None:
    global _reader
    _reader = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
