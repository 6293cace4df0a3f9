"""The webhook, for handlers that have no client."""

from __future__ import annotations

import threading

from . import _interface
from ._caller import MAX_WORKERS, Caller
from ._pool import Pool
from ._settings import DEFAULT_DEADLINE, Settings
from ._types import DocketCompleted

_lock = threading.Lock()
_caller: Caller | None = None


def parse_docket_completed(body: bytes | bytearray | memoryview | str) -> DocketCompleted | None:
    """Reads the body of a webhook delivery as `VoiceClient.webhooks.parse_docket_completed` does.
    It needs no settings and sends nothing. A body of more than 1 MiB is `InvalidInput`; bodies are
    read one after another.

    >>> completed = parse_docket_completed('{"docket_id": "d-1", "call_insights": null}')
    >>> completed.docket_id
    'd-1'
    >>> parse_docket_completed(b'{"event": "something else"}') is None
    True
    """
    global _caller
    with _lock:
        if _caller is None:
            _caller = Caller(Pool(Settings({}, {}), MAX_WORKERS, None), DEFAULT_DEADLINE)
    return _caller.call(_interface.PARSE_DOCKET_COMPLETED, body)
