"""The component and its instances: all that touches `wasmtime`, which aborts the process where it
is misused. A store, its instance and functions stay together in `Instance`, for one call at a
time."""

# The structures of `ctypes` have no types that a checker could know.
# mypy: disable-error-code="no-any-return, no-untyped-call"
# pyright: basic

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import _cache
from ._codec import Encode, encoder, invoke
from ._failures import execution_failed
from ._interface import WIT_VERSION
from ._schema import Function
from ._wasmtime import (
    Component,
    Config,
    Engine,
    Func,
    Linker,
    Store,
    WasiConfig,
    WasmtimeError,
    ffi,
    library,
)

__all__ = ["Instance", "WasmtimeError", "refuse_in_fork", "settle"]

_PACKAGE = "voice-calling:client"

_lock = threading.Lock()
"""For the runtime, and for what `wasmtime` keeps of callbacks for all stores without a lock."""

_runtime: _Runtime | None = None
_used_by: int | None = None


def refuse_in_fork() -> None:
    """Refuses calls where a parent has made some: the threads that do its HTTP were not forked
    along, and calls would wait for ever."""
    global _used_by
    process = os.getpid()
    if _used_by is None:
        _used_by = process
    elif _used_by != process:
        raise execution_failed(
            "this process was forked from one that had used voice-calling, and nothing was sent: "
            'make calls only after the fork, or start processes by "spawn"'
        )


class _Runtime:
    """The component, compiled once for all clients of the process."""

    def __init__(self, folder: Path | None) -> None:
        config = Config()
        config.epoch_interruption = True
        # Otherwise each instance reserves 4 GiB of addresses, which some systems do not grant.
        config.memory_reservation = 0
        config.memory_guard_size = 0
        config.memory_reservation_for_growth = 1 << 20
        self.engine = Engine(config)
        wasm = Path(__file__).with_name("voice_calling.wasm").read_bytes()
        self.component: Component = _cache.load(
            self.engine, wasm, f"{library()}, epochs, memory 1", folder
        )
        self.linker = Linker(self.engine)
        self.linker.add_wasip2()
        self.linker.add_wasi_http()
        self._exports: dict[Function[Any], tuple[Any, list[Encode]]] = {}

    def export(self, function: Function[Any]) -> tuple[Any, list[Encode]]:
        """Where the function is, and what writes its arguments."""
        export = self._exports.get(function)
        if export is None:
            name = f"{_PACKAGE}/{function.interface}@{WIT_VERSION}"
            interface = self.component.get_export_index(name)
            index = self.component.get_export_index(function.name, interface)
            export = index, [encoder(parameter.kind) for parameter in function.parameters]
            self._exports[function] = export
        return export


def runtime(folder: Path | None) -> _Runtime:
    """The runtime of this process. The first client says where compiled code is kept."""
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = _Runtime(folder)
        return _runtime


class Instance:
    """An instance of the component, for one call at a time."""

    def __init__(
        self,
        folder: Path | None,
        variables: Iterable[tuple[str, str]],
        on_stderr: Callable[[bytes], None] | None,
    ) -> None:
        """What the component writes goes to `on_stderr`, in threads of the runtime; otherwise to
        the stderr of the process, which needs no Python."""
        global _has_listened
        self._runtime = runtime(folder)
        self._functions: dict[Function[Any], tuple[Func, list[Encode]]] = {}
        self._id = next(_ids)
        with _lock:
            self._store = Store(self._runtime.engine)
            wasi = WasiConfig()
            wasi.env = list(variables)
            if on_stderr is None:
                wasi.inherit_stderr()
            else:
                _has_listened = True
                _listeners[self._id] = on_stderr
                ffi.wasi_config_set_stderr_custom(wasi.ptr(), _ON_STDERR, self._id, _NO_FINALIZER)
            self._store.set_wasi(wasi)
            self._store.set_wasi_http()
            ffi.wasmtime_store_epoch_deadline_callback(
                self._store.ptr(), _ON_EPOCH, self._id, _NO_FINALIZER
            )
            self._store.set_epoch_deadline(1)
        try:
            self._instance = self._runtime.linker.instantiate(self._store, self._runtime.component)
        except BaseException:
            self.close()
            raise

    def call(self, function: Function[Any], arguments: tuple[Any, ...]) -> Any:
        """Calls a function with what is plain, and gives back what is plain. After a
        `WasmtimeError` the instance is of no use."""
        known = self._functions.get(function)
        if known is None:
            index, encoders = self._runtime.export(function)
            found = self._instance.get_func(self._store, index)
            if found is None:
                raise WasmtimeError(f"the component has no {function.interface}.{function.name}")
            known = self._functions[function] = found, encoders
        return invoke(known[0], self._store, known[1], arguments)

    def stop(self) -> None:
        """From any thread: ends the call at the next moment at which the component computes. What
        it has sent is sent, but it sends no more."""
        _stopped.add(self._id)
        self._runtime.engine.increment_epoch()

    def close(self) -> None:
        with _lock:
            self._store.close()
        _stopped.discard(self._id)
        _listeners.pop(self._id, None)


# All instances share an engine, and its epoch. When it goes on, each is asked whether it is meant.

_ids = itertools.count(1)
_stopped: set[int] = set()
_listeners: dict[int, Callable[[bytes], None]] = {}
_has_listened = False


def settle() -> None:
    """At the end of the process: gives no more output to listeners, and lets them finish."""
    if _has_listened:
        _listeners.clear()
        time.sleep(0.05)


# What wasmtime calls must not raise, and has its names even when the module has lost its own.


def _on_epoch(
    _context: Any,
    id_: int,
    delta: Any,
    kind: Any,
    stopped: set[int] = _stopped,
    new_error: Any = ffi.wasmtime_error_new,
    cast: Any = ctypes.cast,
    pointer: Any = ctypes.c_void_p,
) -> int:
    try:
        delta[0] = 1
        kind[0] = 0
        if id_ in stopped:
            return cast(new_error(b"stopped by the caller"), pointer).value or 0
    except BaseException:
        return 0
    return 0


def _on_stderr(
    id_: int,
    written: Any,
    size: int,
    listeners: dict[int, Callable[[bytes], None]] = _listeners,
    string_at: Any = ctypes.string_at,
) -> int:
    try:
        listen = listeners.get(id_)
        if listen is not None:
            listen(string_at(written, size))
    except BaseException:
        return size
    return size


_ON_EPOCH = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.POINTER(ffi.wasmtime_context_t),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ffi.wasmtime_update_deadline_kind_t),
)(_on_epoch)
_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
_ON_STDERR = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t
)(_on_stderr)
