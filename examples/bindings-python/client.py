"""The component as Python sees it: wasmtime makes the bindings when it loads the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any

from wasmtime import Config, Engine, Store, WasiConfig
from wasmtime.component import Component, Linker, Record, Variant


class RequestError(Exception):
    """A `request-error` of the WIT. `failure` has its fields, such as `kind` and `next_step`; it is
    `None` if the host could not run the component."""

    def __init__(self, case: str, failure: dict[str, Any] | None) -> None:
        super().__init__(failure["message"] if failure else case)
        self.case = case
        self.failure = failure or {}


class VoiceCalling:
    """Calls the component's functions. An instance serves one call at a time, so each thread takes
    one from a pool."""

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, str]) -> None:
        config = Config()
        config.cache = True  # Compiled once, not in each process.
        self._engine = Engine(config)
        self._component = Component.from_file(self._engine, os.fspath(path))
        self._linker = Linker(self._engine)
        self._linker.add_wasip2()
        self._linker.add_wasi_http()
        self._settings = list(settings.items())
        self._idle: SimpleQueue[tuple[Store, Any]] = SimpleQueue()

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Calls a function by its name, such as `dockets.get-docket`. Records are dictionaries, and
        variants are their case with its payload, as `call`'s callers below show."""
        try:
            store, instance = self._idle.get_nowait()
        except Empty:
            store, instance = self._instantiate()
        interface, function = name.split(".")
        exported = instance.get_export_index(store, f"voice-calling:client/{interface}@0.2.0")
        function = instance.get_func(store, instance.get_export_index(store, function, exported))
        returned = function(store, *map(lowered, arguments))
        function.post_return(store)
        # An instance that trapped is not used again: the exception has left above.
        self._idle.put((store, instance))
        # A result is its value or its error, unless both are variants.
        if isinstance(returned, Variant) and returned.tag in ("ok", "err"):
            returned = returned.payload
        if isinstance(returned, Variant) and returned.tag in CASES:
            raise RequestError(returned.tag, lifted(returned.payload))
        return lifted(returned)

    def _instantiate(self) -> tuple[Store, Any]:
        store, wasi = Store(self._engine), WasiConfig()
        wasi.env = self._settings
        wasi.inherit_stderr()  # The component logs there.
        store.set_wasi(wasi)
        store.set_wasi_http()
        return store, self._linker.instantiate(store, self._component)


CASES = ("execution-failed", "permanent", "transient")


def lowered(value: Any) -> Any:
    """Returns the record of a dictionary, whose keys may have underscores."""
    if not isinstance(value, dict):
        return value
    record = Record()
    for name, field in value.items():
        setattr(record, name.replace("_", "-"), lowered(field))
    return record


def lifted(value: Any) -> Any:
    """Returns records as dictionaries and variants as pairs."""
    match value:
        case Record():
            return {name.replace("-", "_"): lifted(field) for name, field in vars(value).items()}
        case Variant(tag, payload):
            return (tag, lifted(payload))
        case list():
            return [lifted(item) for item in value]
    return value
