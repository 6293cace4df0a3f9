"""The component in the package is the one that the package was generated for."""

from __future__ import annotations

from typing import Any

from wasmtime.component import _types as wasm

from voice_calling import _interface
from voice_calling._engine import runtime
from voice_calling._schema import (
    Body,
    Bool,
    Failure,
    Float,
    Function,
    Integer,
    JsonText,
    Kind,
    ListOf,
    Optional,
    Outcome,
    Record,
    Status,
    Text,
    Texts,
    Variant,
)


def described_by_package(kind: Kind) -> Any:
    """A type as plain data, as the generated tables have it."""
    if isinstance(kind, Bool):
        return "bool"
    if isinstance(kind, Integer):
        return kind.name
    if isinstance(kind, Float):
        return "f64"
    if isinstance(kind, (Text, JsonText, Body)):
        return "string"
    if isinstance(kind, Texts):
        return ["list", ["tuple", ["string", "string"]]]
    if isinstance(kind, Optional):
        return ["option", described_by_package(kind.inner)]
    if isinstance(kind, ListOf):
        return ["list", described_by_package(kind.inner)]
    if isinstance(kind, Record):
        return ["record", [(field.wit, described_by_package(field.kind)) for field in kind.fields]]
    if isinstance(kind, Status):
        return ["variant", [*((case, None) for case in kind.cases), ("other", "string")]]
    if isinstance(kind, (Failure, Variant)):
        cases = kind.cases.items()
        return [
            "variant",
            [(case, payload and described_by_package(payload)) for case, (_, payload) in cases],
        ]
    assert isinstance(kind, Outcome), kind
    return ["result", described_by_package(kind.ok), described_by_package(kind.error)]


def described_by_component(ty: Any) -> Any:
    """The same, as the component has it."""
    if isinstance(ty, wasm.RecordType):
        return ["record", [(name, described_by_component(field)) for name, field in ty.fields]]
    if isinstance(ty, wasm.VariantType):
        return [
            "variant",
            [(name, case and described_by_component(case)) for name, case in ty.cases],
        ]
    if isinstance(ty, wasm.OptionType):
        return ["option", described_by_component(ty.payload)]
    if isinstance(ty, wasm.ListType):
        return ["list", described_by_component(ty.element)]
    if isinstance(ty, wasm.TupleType):
        return ["tuple", [described_by_component(element) for element in ty.elements]]
    if isinstance(ty, wasm.ResultType):
        return ["result", described_by_component(ty.ok), described_by_component(ty.err)]
    return type(ty).__name__.lower()


def functions_of_component() -> dict[str, Any]:
    loaded = runtime(None)
    functions: dict[str, Any] = {}
    for interface, extern in loaded.component.type.exports(loaded.engine).items():
        for name, item in item_of(extern).exports(loaded.engine).items():
            ty = item_of(item)
            if isinstance(ty, wasm.FuncType):
                parameters = [(name, described_by_component(it)) for name, it in ty.params]
                result = described_by_component(ty.result)
                functions[f"{interface}.{name}"] = (parameters, result)
    return functions


def item_of(extern: Any) -> Any:
    return getattr(extern, "ty", extern)  # wasmtime 46 gives the item itself


def functions_of_package() -> dict[str, Any]:
    def described(function: Function[Any]) -> Any:
        parameters = [
            (field.wit, described_by_package(field.kind)) for field in function.parameters
        ]
        return parameters, described_by_package(function.outcome)

    version = _interface.WIT_VERSION
    return {
        f"voice-calling:client/{function.interface}@{version}.{function.name}": described(function)
        for function in _interface.FUNCTIONS
    }


def test_every_function_and_type_of_the_component_is_that_of_the_package() -> None:
    component = functions_of_component()
    package = functions_of_package()
    assert sorted(component) == sorted(package)
    for name, signature in component.items():
        assert package[name] == signature, name


def test_the_functions_that_create_are_known() -> None:
    creating = [function.name for function in _interface.FUNCTIONS if function.creates]
    assert creating == [
        "create-agent",
        "make-call",
        "create-docket",
        "create-docket-v2",
        "create-dockets-v2",
    ]
