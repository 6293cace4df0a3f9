"""The attempts, as records of the logger `voice_calling`."""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("voice_calling")

created = logging.getLogger("voice_calling.created")
"""Gets the id of everything that is created, at INFO."""


def write(line: str) -> None:
    """Logs a line of the machine, which is JSON."""
    if logger.isEnabledFor(logging.INFO):
        _guarded(_log, line)


def say(level: int, message: str, *arguments: object, to: logging.Logger = logger) -> None:
    """Logs a message."""
    _guarded(to.log, level, message, *arguments)


def _guarded(log: Callable[..., None], *arguments: object) -> None:
    """Logs, and raises nothing: a handler that fails, be it by an exit, must not end the calls of
    others."""
    try:
        log(*arguments)
    except BaseException:
        if logging.raiseExceptions:
            with contextlib.suppress(BaseException):
                traceback.print_exc()


def _log(line: str) -> None:
    attempt: dict[str, Any] = json.loads(line)
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
