"""The loggers of the package. A handler that fails, be it by an exit, must not end the calls of
others: logging raises nothing."""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from typing import Any

logger = logging.getLogger("voice_calling")

created_logger = logging.getLogger("voice_calling.created")
"""Gets the id of everything that is created, at INFO."""


def log(
    level: int,
    message: str,
    *arguments: object,
    to: logging.Logger = logger,
    extra: dict[str, Any] | None = None,
) -> None:
    """Logs a message."""
    try:
        to.log(level, message, *arguments, extra=extra)
    except BaseException:
        if logging.raiseExceptions:
            with contextlib.suppress(BaseException):
                traceback.print_exc()


def log_attempt(line: str) -> None:
    """Logs an attempt, which the core reports as a line of JSON."""
    if not logger.isEnabledFor(logging.INFO):
        return
    attempt: dict[str, Any] = json.loads(line)
    outcome = [attempt.get("status"), attempt.get("transport_error")]
    log(
        logging.DEBUG if 200 <= (attempt.get("status") or 0) < 300 else logging.INFO,
        "%s: attempt %s, %s %s: %s after %s ms",
        attempt.get("function"),
        attempt.get("attempt"),
        attempt.get("method"),
        attempt.get("path"),
        ", ".join(str(part) for part in outcome if part is not None) or "no answer",
        attempt.get("duration_ms"),
        extra={"voice_calling": attempt},
    )
