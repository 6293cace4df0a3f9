"""Values between Python and the component, by the C interface that `wasmtime` is made of.

`wasmtime` converts values too, but looks their types up anew at each, which takes longer than a
request on loopback; and integers out of range wrap. What is written here is built once for each
function. `wasmtime._ffi` is private: `_try_itself` asks it to hold, before anything is sent.
"""

# The structures of `ctypes` have no types that a checker could know.
# mypy: disable-error-code="no-any-return, no-untyped-call"
# pyright: basic

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

from ._schema import (
    JSON,
    S64,
    TEXTS,
    U32,
    Body,
    Bool,
    Integer,
    JsonText,
    Kind,
    ListOf,
    Optional,
    Record,
    Text,
    Texts,
)
from ._wasmtime import TESTED, WasmtimeError, ffi, version

Encode: TypeAlias = Callable[[Any, Any], None]
"""Writes what is plain (see `_schema`) into a C value. It cannot fail: all was checked before."""


def encoder(kind: Kind) -> Encode:
    """What writes values of this kind."""
    if isinstance(kind, Bool):
        return _encode_bool
    if isinstance(kind, Integer):
        return _integer_encoder(kind.name)
    if isinstance(kind, (Text, JsonText, Body)):
        return _encode_text
    if isinstance(kind, Texts):
        return _list_encoder(_encode_pair)
    if isinstance(kind, Optional):
        return _option_encoder(encoder(kind.inner))
    if isinstance(kind, ListOf):
        return _list_encoder(encoder(kind.inner))
    if isinstance(kind, Record):
        return _record_encoder([(f.wit.encode(), encoder(f.kind)) for f in kind.fields])
    raise TypeError(f"{kind} is no argument")


def invoke(function: Any, store: Any, encoders: list[Encode], arguments: tuple[Any, ...]) -> Any:
    """Calls a function of an instance; the GIL is free meanwhile. A trap is a `WasmtimeError`."""
    given = (_Value * len(encoders))()
    result = _Value()
    for cell in given:
        _clear(cell)
    try:
        for encode, argument, cell in zip(encoders, arguments, given, strict=True):
            encode(argument, cell)
        error = ffi.wasmtime_component_func_call(
            ctypes.byref(function._func),
            store._context(),
            given,
            len(encoders),
            ctypes.byref(result),
            1,
        )
        if error:
            raise WasmtimeError._from_ptr(error)
        try:
            return decode(result)
        finally:
            ffi.wasmtime_component_val_delete(ctypes.byref(result))
    finally:
        for cell in given:
            ffi.wasmtime_component_val_delete(ctypes.byref(cell))


def decode(cell: Any) -> Any:
    """What a C value holds, which tells its kind itself."""
    return _DECODERS[cell.kind](cell.of)


def _encode_bool(value: bool, cell: Any) -> None:
    cell.kind = _BOOL
    cell.of.boolean = value


def _integer_encoder(name: str) -> Encode:
    tag = _tag(name)

    def encode(value: int, cell: Any) -> None:
        cell.kind = tag
        setattr(cell.of, name, value)

    return encode


def _encode_text(value: bytes, cell: Any) -> None:
    _new_bytes(ctypes.addressof(cell.of.string), len(value), value)
    cell.kind = _STRING


def _encode_pair(values: tuple[bytes, bytes], cell: Any) -> None:
    made = ffi.wasmtime_component_valtuple_t()
    ffi.wasmtime_component_valtuple_new_uninit(ctypes.byref(made), 2)
    elements = made.data
    for index, value in enumerate(values):
        _encode_text(value, elements[index])
    cell.of.tuple = made
    cell.kind = _TUPLE


def _option_encoder(inner: Encode) -> Encode:
    def encode(value: Any, cell: Any) -> None:
        if value is None:
            cell.of.option = None
        else:
            some = _Value()
            inner(value, some)
            cell.of.option = ffi.wasmtime_component_val_new(ctypes.byref(some))
        cell.kind = _OPTION

    return encode


def _list_encoder(inner: Encode) -> Encode:
    def encode(values: tuple[Any, ...], cell: Any) -> None:
        elements = _new_list(len(values), cell)
        for index, value in enumerate(values):
            inner(value, elements[index])

    return encode


def _new_list(length: int, cell: Any) -> Any:
    """Makes `cell` a list of false, so that it can be freed at any moment."""
    made = ffi.wasmtime_component_vallist_t()
    ffi.wasmtime_component_vallist_new_uninit(ctypes.byref(made), length)
    elements = made.data
    if length:
        ctypes.memset(elements, 0, length * ctypes.sizeof(_Value))
    cell.of.list = made
    cell.kind = _LIST
    return elements


def _record_encoder(fields: list[tuple[bytes, Encode]]) -> Encode:
    length = len(fields)

    def encode(values: tuple[Any, ...], cell: Any) -> None:
        made = ffi.wasmtime_component_valrecord_t()
        ffi.wasmtime_component_valrecord_new_uninit(ctypes.byref(made), length)
        entries = made.data
        for index, (name, _) in enumerate(fields):
            entry = entries[index]
            _new_bytes(ctypes.addressof(entry.name), len(name), name)
            _clear(entry.val)
        cell.of.record = made
        cell.kind = _RECORD
        for index, (_, inner) in enumerate(fields):
            inner(values[index], entries[index].val)

    return encode


def _clear(cell: Any) -> None:
    """Makes `cell` false, which owns nothing."""
    cell.kind = _BOOL
    cell.of.boolean = False


def _text(of: Any) -> str:
    return _name(of.string)


def _name(text: Any) -> str:
    size = text.size
    return ctypes.string_at(text.data, size).decode() if size else ""


def _list(of: Any) -> tuple[Any, ...]:
    elements = of.list
    data = elements.data
    return tuple([decode(data[index]) for index in range(elements.size)])


def _tuple(of: Any) -> tuple[Any, ...]:
    elements = of.tuple
    data = elements.data
    return tuple([decode(data[index]) for index in range(elements.size)])


def _record(of: Any) -> tuple[Any, ...]:
    record = of.record
    data = record.data
    return tuple([decode(data[index].val) for index in range(record.size)])


def _variant(of: Any) -> tuple[str, Any]:
    variant = of.variant
    payload = variant.val
    return _name(variant.discriminant), decode(payload.contents) if payload else None


def _option(of: Any) -> Any:
    some = of.option
    return decode(some.contents) if some else None


def _result(of: Any) -> tuple[bool, Any]:
    result = of.result
    value = result.val
    return bool(result.is_ok), decode(value.contents) if value else None


def _scalar(name: str) -> Callable[[Any], Any]:
    return lambda of: getattr(of, name)


def _tag(name: str) -> int:
    return getattr(ffi, f"WASMTIME_COMPONENT_{name.upper()}").value


def _try_itself() -> None:
    """Writes and reads a value of each shape."""
    from types import SimpleNamespace

    from ._schema import BOOL, TEXT, Field

    inner = Record("inner", SimpleNamespace, (Field("n", "n", S64), Field("b", "b", BOOL)))
    kinds = [inner, Optional(TEXT), Optional(U32), ListOf(TEXT), JSON, TEXTS]
    fields = tuple([Field(f"field-{i}", f"f{i}", kind) for i, kind in enumerate(kinds)])
    plain = ((-(2**63), True), "ü\0".encode(), None, (b"a", b""), b"{}", ((b"k", b"v"),))
    expected = ((-(2**63), True), "ü\0", None, ("a", ""), "{}", (("k", "v"),))
    cell = _Value()
    encoder(Record("outer", SimpleNamespace, fields))(plain, cell)
    found = decode(cell)
    ffi.wasmtime_component_val_delete(ctypes.byref(cell))
    if found != expected:
        raise ValueError(f"{expected} came back as {found}")


try:
    _Value = ffi.wasmtime_component_val_t
    _BOOL, _STRING, _LIST, _TUPLE, _RECORD, _OPTION = map(
        _tag, ["bool", "string", "list", "tuple", "record", "option"]
    )
    # `PYFUNCTYPE` keeps the GIL, which is not worth giving up for so little.
    _new_bytes = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)(
        ("wasm_byte_vec_new", ffi.dll)  # pyright: ignore
    )
    _DECODERS: dict[int, Callable[[Any], Any]] = {
        _BOOL: _scalar("boolean"),
        _tag("u16"): _scalar("u16"),
        _tag("u32"): _scalar("u32"),
        _tag("s64"): _scalar("s64"),
        _tag("f64"): _scalar("f64"),
        _STRING: _text,
        _LIST: _list,
        _TUPLE: _tuple,
        _RECORD: _record,
        _tag("variant"): _variant,
        _OPTION: _option,
        _tag("result"): _result,
    }
    _try_itself()
except Exception as error:
    raise ImportError(
        f"voice-calling cannot pass values to wasmtime {version()} ({error!r}); it needs {TESTED}"
    ) from error
