"""The compiled component, kept in a folder of the user, so that only the first use compiles it.

Whatever is wrong with the folder or a file in it costs only the time to compile. Compiled code is
trusted code: a file is read only where no one else can write, and only with its own SHA-256, since
`wasmtime` runs damaged code without noticing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import sys
from pathlib import Path

from ._wasmtime import Component, Engine, WasmtimeError

logger = logging.getLogger("voice_calling")

_MAGIC = b"voice-calling compiled 1\n"
_SEAL = len(_MAGIC) + hashlib.sha256().digest_size


def default_folder() -> Path:
    """Where this platform keeps what can be had again."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "voice-calling"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "voice-calling"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "voice-calling"


def load(engine: Engine, wasm: bytes, made_by: str, folder: Path | None) -> Component:
    """The component, from the folder where it is there and sound; otherwise it is compiled.
    `made_by` tells apart what compiles it: file names have it, so that all find their own."""
    try:
        folder = default_folder() if folder is None else folder
    except RuntimeError:  # no home directory
        return Component(engine, wasm)
    file = folder / f"{_key(wasm, made_by)}.cwasm"
    component = _read(engine, file)
    if component is None:
        component = Component(engine, wasm)
        _write(file, bytes(component.serialize()))
    return component


def _key(wasm: bytes, made_by: str) -> str:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    name = f"{sys.platform} {machine} {made_by}"
    return hashlib.sha256(hashlib.sha256(wasm).digest() + name.encode()).hexdigest()[:32]


def _read(engine: Engine, file: Path) -> Component | None:
    try:
        if not _is_ours(file.parent.stat()):
            logger.warning(
                "the component is compiled anew by each process: others may write to %s",
                file.parent,
            )
            return None
        with file.open("rb") as source:  # what is asked is what is read
            if not _is_ours(os.fstat(source.fileno())):
                return None
            sealed = source.read()
        code = sealed[_SEAL:]
        if sealed[:_SEAL] != _MAGIC + hashlib.sha256(code).digest():
            return None
        return Component.deserialize(engine, code)
    except (OSError, WasmtimeError):
        return None


def _write(file: Path, code: bytes) -> None:
    """Writes the file whole or not at all, since others may do the same at this moment."""
    import tempfile  # takes its time, and is needed once

    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_ours(file.parent.stat()):
            return
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, file)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        pass


def _is_ours(status: os.stat_result) -> bool:
    """Whether only this user and root can write to it, where that can be asked."""
    if sys.platform == "win32":
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
