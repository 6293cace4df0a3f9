"""The attempts, as records of the logger `voice_calling`."""

from __future__ import annotations

import json
import logging
from typing import Any

logger = logging.getLogger("voice_calling")


def write(line: str) -> None:
    """Logs a line of the machine, which is JSON. It raises nothing: a handler that fails must not
    end a call."""
    if not logger.isEnabledFor(logging.INFO):
        return
    try:
        _log(json.loads(line))
    except Exception:
        if logging.raiseExceptions:
            import traceback

            traceback.print_exc()


def _log(attempt: dict[str, Any]) -> None:
    level = logging.DEBUG if 200 <= (attempt.get("status") or 0) < 300 else logging.INFO
    logger.log(
        level,
        "%s: attempt %s, %s %s: %s after %s ms",
        attempt.get("function"),
        attempt.get("attempt"),
        attempt.get("method"),
        attempt.get("path"),
        _outcome(attempt),
        attempt.get("duration_ms"),
        extra={"voice_calling": attempt},
    )


def _outcome(attempt: dict[str, Any]) -> str:
    parts = [attempt.get("status"), attempt.get("transport_error")]
    return ", ".join(str(part) for part in parts if part is not None) or "no answer"
