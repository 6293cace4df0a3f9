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


def parse_docket_completed(body: str | bytes | bytearray | memoryview) -> DocketCompleted | None:
    """Reads the body of a webhook delivery as `VoiceClient.webhooks.parse` does. It needs no
    settings and sends nothing. Anyone may send a delivery: use `VoiceClient.webhooks.verify`
    before you trust one.

    >>> body = '{"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "COMPLETED"}'
    >>> parse_docket_completed(body).docket_id
    '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11'
    >>> parse_docket_completed(b'{"event": "something else"}') is None
    True
    """
    global _caller
    with _lock:
        if _caller is None:
            _caller = Caller(Pool(Settings(environ={}), MAX_WORKERS, None), DEFAULT_DEADLINE)
    return _caller.call(_interface.PARSE_DOCKET_COMPLETED, body)
