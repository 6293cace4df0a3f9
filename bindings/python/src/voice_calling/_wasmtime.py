"""What is used of `wasmtime`, and what to do where it cannot be imported."""

from __future__ import annotations

import os

TESTED = "wasmtime>=46.0.1,!=48.0.0,<51"
"""The versions that are known to do."""

try:
    from wasmtime import Config as Config
    from wasmtime import Engine as Engine
    from wasmtime import Store as Store
    from wasmtime import WasiConfig as WasiConfig
    from wasmtime import WasmtimeError as WasmtimeError
    from wasmtime import _ffi as ffi
    from wasmtime.component import Component as Component
    from wasmtime.component import Func as Func
    from wasmtime.component import Linker as Linker
except (ImportError, OSError, RuntimeError, AttributeError) as error:
    raise ImportError(
        f"voice-calling needs {TESTED} on a platform for which it has a binary wheel: "
        "Linux (x86_64, aarch64; glibc or musl), macOS (x86_64, arm64), Windows (amd64, arm64). "
        f"Importing it here failed: {error}"
    ) from error

__all__ = [
    "TESTED",
    "Component",
    "Config",
    "Engine",
    "Func",
    "Linker",
    "Store",
    "WasiConfig",
    "WasmtimeError",
    "ffi",
    "library",
    "version",
]


def version() -> str:
    """The version of wasmtime."""
    from importlib import metadata  # takes longer than a start from the cache

    return metadata.version("wasmtime")


def library() -> str:
    """What stands for the version where it is asked for often: the size of the library. A version
    that takes code of another is refused by wasmtime itself."""
    file: str = ffi.dll._name  # pyright: ignore
    return f"wasmtime of {os.path.getsize(file)} bytes"
