"""The core, which knows the service: a WebAssembly module without imports, JSON in and out.

Only what `wasmtime` documents is used of it. It is imported by the first call, not by the import of
this package; then the module is compiled, or taken from wasmtime's own cache.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wasmtime import Engine, Module

MODULE = "voice-calling-sans-io.wasm"

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
"""Returns the JSON text that the core reads."""

first_call_lock = threading.RLock()
"""Held while the first call imports and compiles; a fork waits. An import has a lock, which a child
process would wait for without end. Compiling has threads, which it does not get, and what wasmtime
sets up once, at the first instance, would never be ready there."""

_compiled: tuple[Engine, Module] | None = None


class GuestLost(Exception):
    """The instance trapped, or did not understand its input."""


class Guest:
    """An instance of the module, for one thread at a time."""

    def __init__(self) -> None:
        with first_call_lock:
            engine, module = _compile()
            import wasmtime

            self._store = wasmtime.Store(engine)
            instance = wasmtime.Instance(self._store, module, [])
        exports = instance.exports(self._store)
        self._memory: Any = exports["memory"]
        self._functions: dict[str, Any] = {
            name: exports[name]
            for name in ("reserve", "configure", "step", "parse_docket_completed")
        }
        at = exports["mailbox"](self._store) & 0xFFFF_FFFF  # type: ignore[operator]
        self._mailbox = slice(at, at + 16)
        self._room = 0
        self._look()

    def call(self, name: str, given: object) -> Any:
        """Calls an export, and returns an object with `Ok` or `Err` as its only member."""
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
            self._functions["reserve"](self._store, self._room)
            self._look()
        at = self._numbers[0]
        self._view[at : at + size] = given
        self._numbers[1] = size
        self._functions[name](self._store)
        if self._memory.data_len(self._store) != len(self._view):
            self._look()
        at, size = self._numbers[2:]
        return str(self._view[at : at + size], "utf-8")

    def _look(self) -> None:
        """Looks where the memory is, which may be elsewhere after a call has let it grow."""
        self._view = memoryview(self._memory.get_buffer_ptr(self._store)).cast("B")
        self._numbers = self._view[self._mailbox].cast("I")  # of 32 bits, as in the module


def _compile() -> tuple[Engine, Module]:
    """Returns the module as machine code, made once for the process. The caller holds the lock."""
    global _compiled
    if _compiled is None:
        import wasmtime

        # Otherwise the first connection imports it: a fork meanwhile would leave the import's lock
        # to the child, held by a thread that does not exist there.
        importlib.import_module("encodings.idna")
        config = wasmtime.Config()
        with contextlib.suppress(wasmtime.WasmtimeError):  # no folder for caches is known
            config.cache = True
        if hasattr(wasmtime.Config, "memory_reservation"):
            # By default a guest reserves 4 GiB of addresses, which limits may forbid.
            config.memory_reservation = 64 * 1024 * 1024
            config.memory_guard_size = 65536
        engine = wasmtime.Engine(config)
        code = Path(__file__).with_name(MODULE).read_bytes()
        _compiled = engine, wasmtime.Module(engine, code)
    return _compiled


def at_exit() -> None:
    """Frees what cannot free itself while the interpreter is taken apart."""
    global _compiled
    _compiled = None
