"""The machine that knows the service: a WebAssembly module without imports, JSON in and out.

Only what `wasmtime` documents is used of it. It is imported by the first call, not by the import of
this package; then the module is compiled, or taken from wasmtime's own cache.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wasmtime import Engine, Module

MODULE = "voice-calling-sans-io.wasm"

OLDEST_WASMTIME = "25.0.0"
"""The oldest `wasmtime` that is tested."""

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
"""JSON text of what the machine takes."""

_LARGE = 32 * 1024 * 1024
"""Memory of a guest that is not kept."""

_lock = threading.Lock()
_compiled: tuple[Engine, Module] | None = None


class GuestLost(Exception):
    """The guest trapped, or did not understand what it was given."""


class Guest:
    """An instance of the module, for one thread at a time."""

    def __init__(self) -> None:
        with _lock:
            engine, module = _compile()
            import wasmtime

            self._store = wasmtime.Store(engine)
            instance = wasmtime.Instance(self._store, module, [])
        exports = instance.exports(self._store)
        self._memory: Any = exports["memory"]
        self._functions: dict[str, Any] = {
            name: exports[name] for name in ("input", "configure", "step", "parse_docket_completed")
        }
        self._room = 0
        self._input = 0

    @property
    def is_large(self) -> bool:
        """Whether it holds much memory, which it never gives back."""
        return int(self._memory.data_len(self._store)) > _LARGE

    def call(self, name: str, given: object) -> Any:
        """Calls an export: what it returned, with `Ok` or `Err` as its only member."""
        try:
            returned = json.loads(self._call(name, encode(given).encode("utf-8")))
        except Exception as error:
            raise GuestLost(f"{type(error).__name__}: {error}") from error
        if "misuse" in returned:
            raise GuestLost(f"{name}: {returned['misuse']}")
        return returned

    def _call(self, name: str, given: bytes) -> str:
        size = len(given)
        if size > self._room:
            self._room = max(2 * size, 65536)
            self._input = self._functions["input"](self._store, self._room)
        at = self._input & 0xFFFF_FFFF
        self._view()[at : at + size] = given
        at = self._functions[name](self._store, size) & 0xFFFF_FFFF
        view = self._view()
        size = int.from_bytes(view[at : at + 4], "little")
        return str(view[at + 4 : at + 4 + size], "utf-8")

    def _view(self) -> memoryview:
        """All of the memory, until it grows."""
        return memoryview(self._memory.get_buffer_ptr(self._store)).cast("B")


def _compile() -> tuple[Engine, Module]:
    """The module as machine code, once for the process. The caller holds the lock."""
    global _compiled
    if _compiled is None:
        wasmtime = _wasmtime()
        config = wasmtime.Config()
        with contextlib.suppress(wasmtime.WasmtimeError):  # no folder for caches is known
            config.cache = True
        if hasattr(wasmtime.Config, "memory_reservation"):
            # By default a guest reserves 4 GiB of addresses, which limits may forbid.
            config.memory_reservation = 64 * 1024 * 1024
            config.memory_guard_size = 65536
        engine = wasmtime.Engine(config)
        code = resources.files("voice_calling").joinpath(MODULE).read_bytes()
        _compiled = engine, wasmtime.Module(engine, code)
    return _compiled


def _wasmtime() -> Any:
    """The package, where it can be used."""
    try:
        import wasmtime
    except (ImportError, OSError, RuntimeError) as error:
        raise ImportError(
            f"wasmtime cannot be imported: {error}. voice-calling runs a WebAssembly module on it; "
            "there are wheels for Linux (x86_64, aarch64; glibc and musl), macOS and Windows"
        ) from error
    missing = [
        name
        for name in ("Config", "Engine", "Instance", "Module", "Store")
        if not hasattr(wasmtime, name)
    ]
    if missing or not hasattr(wasmtime.Memory, "get_buffer_ptr"):
        version = getattr(wasmtime, "__version__", "unknown")
        raise ImportError(
            f"this wasmtime ({version}) cannot be used: voice-calling needs {OLDEST_WASMTIME} or "
            "newer"
        )
    return wasmtime


def _at_exit() -> None:
    # What lives until the interpreter is taken apart cannot free itself any more.
    global _compiled
    _compiled = None


if hasattr(os, "register_at_fork"):
    # The compiler has threads, which a child does not get, and what wasmtime sets up once, at the
    # first instance, would never be ready there: a fork waits until both are done.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
atexit.register(_at_exit)
