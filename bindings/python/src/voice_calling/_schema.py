"""What the component's types are in Python.

Each kind checks what a user gave and makes it plain (`lower`), and makes what a user gets of what
is plain (`lift`). Plain are `bytes` for text, `bool`, `int`, `float`, tuples for records, tuples
and lists, `None` or the value for an option. What comes back has `str` for text, and pairs: of a
case and its payload for a variant, of `True` and the value or `False` and the error for a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from ._errors import RequestError
from ._failures import invalid_input, wrong_value
from ._json import cut, dumps
from ._status import ServiceStatus

T = TypeVar("T")


class Kind:
    """A type of the component."""

    def lower(self, value: Any, at: str) -> Any:
        """What the component takes of the value given as `at`; `InvalidInput` otherwise."""
        raise NotImplementedError(f"{type(self).__name__} is no argument")

    def lift(self, plain: Any) -> Any:
        """What a user gets."""
        return plain

    def record(self) -> Record | None:
        """The record that it is, or is made of."""
        return None


class Bool(Kind):
    def lower(self, value: Any, at: str) -> Any:
        if not isinstance(value, bool):
            raise wrong_value(at, value, "True or False")
        return value


class Integer(Kind):
    """An integer of so many bits."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        bits = int(name[1:])
        signed = name[0] == "s"
        self.lowest: Final = -(2 ** (bits - 1)) if signed else 0
        self.highest: Final = 2 ** (bits - 1) - 1 if signed else 2**bits - 1

    def lower(self, value: Any, at: str) -> Any:
        allowed = f"an integer, {self.lowest} to {self.highest}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_value(at, value, allowed)
        if not self.lowest <= value <= self.highest:
            found = f"{value}" if abs(value) < 2**128 else "an integer of more than 128 bits"
            raise invalid_input(at, found, allowed)
        return int(value)


class Seconds(Integer):
    """Seconds for the user, milliseconds for the component."""

    def lower(self, value: Any, at: str) -> Any:
        allowed = f"seconds, 0.001 to {self.highest / 1000}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong_value(at, value, allowed)
        if not 0 <= value <= self.highest / 1000:  # as NaN is
            raise wrong_value(at, value, allowed)
        return round(value * 1000)

    def lift(self, plain: Any) -> Any:
        return plain / 1000


class Float(Kind):
    """A number of 64 bits; the component only reports them."""


class Text(Kind):
    def lower(self, value: Any, at: str) -> Any:
        if not isinstance(value, str):
            raise wrong_value(at, value, "text")
        return encoded(value, at)


class JsonText(Kind):
    def lower(self, value: Any, at: str) -> Any:
        if value is None:
            raise invalid_input(at, "None", "JSON: Python values, or text that is JSON")
        return encoded(dumps(value, at, invalid_input), at)


class Body(Kind):
    """Text that came from outside. Web frameworks give its bytes, which need not be UTF-8."""

    def lower(self, value: Any, at: str) -> Any:
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = bytes(value).decode(errors="replace")
        if not isinstance(value, str):
            raise wrong_value(at, value, "text or bytes")
        return encoded(value, at)


class Texts(Kind):
    """Names and values, of which there may be none."""

    def lower(self, value: Any, at: str) -> Any:
        if value is None:
            return ()
        if not isinstance(value, Mapping):
            raise wrong_value(at, value, "a mapping of names to texts")
        return tuple([self._pair(name, text, at) for name, text in value.items()])

    def _pair(self, name: Any, text: Any, at: str) -> tuple[bytes, bytes]:
        if not isinstance(name, str):
            raise wrong_value(at, name, "text as names")
        at = joined(at, cut(name))
        if not isinstance(text, str):
            raise wrong_value(at, text, "text")
        return encoded(name, at), encoded(text, at)


class Optional(Kind):
    def __init__(self, inner: Kind) -> None:
        self.inner: Final = inner

    def lower(self, value: Any, at: str) -> Any:
        return None if value is None else self.inner.lower(value, at)

    def lift(self, plain: Any) -> Any:
        return None if plain is None else self.inner.lift(plain)

    def record(self) -> Record | None:
        return self.inner.record()


class ListOf(Kind):
    def __init__(self, inner: Kind) -> None:
        self.inner: Final = inner

    def lower(self, value: Any, at: str) -> Any:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise wrong_value(at, value, "a list")
        if isinstance(value, Set):
            raise wrong_value(at, value, "a list, since a set has no order")
        return tuple([self.inner.lower(item, f"{at}[{i}]") for i, item in enumerate(value)])

    def lift(self, plain: Any) -> Any:
        return [self.inner.lift(item) for item in plain]

    def record(self) -> Record | None:
        return self.inner.record()


class TupleOf(ListOf):
    """A list in a record, which does not change."""

    def lift(self, plain: Any) -> Any:
        return tuple([self.inner.lift(item) for item in plain])


class Field(NamedTuple):
    """A field of a record, or a parameter."""

    wit: str
    """As the component calls it: `to-phone-number`."""
    name: str
    """As users call it: `to_phone_number`; empty where they give the fields of its record."""
    kind: Kind


class Record(Kind):
    def __init__(self, wit: str, made: type[Any], fields: tuple[Field, ...]) -> None:
        self.wit: Final = wit
        self.made: Final = made
        self.fields: Final = fields
        self._lifts: Final = [(field.name, field.kind.lift) for field in fields]

    def lower(self, value: Any, at: str) -> Any:
        if not isinstance(value, self.made):
            raise wrong_value(at, value, f"{self.made.__name__}")
        return tuple(
            [
                field.kind.lower(getattr(value, field.name), joined(at, field.name))
                for field in self.fields
            ]
        )

    def lift(self, plain: Any) -> Any:
        lifts = zip(self._lifts, plain, strict=True)
        return self.made(**{name: lift(value) for (name, lift), value in lifts})

    def record(self) -> Record | None:
        return self


class Status(Kind):
    """A variant of known words, and `other` with any text."""

    def __init__(self, wit: str, made: type[ServiceStatus], cases: dict[str, str]) -> None:
        self.wit: Final = wit
        self.made: Final = made
        self.cases: Final = cases

    def lift(self, plain: Any) -> Any:
        case, text = plain
        return self.made(self.cases.get(case, text))


class Variant(Kind):
    """A variant whose cases are classes."""

    def __init__(self, wit: str, cases: dict[str, tuple[type[Any], Kind | None]]) -> None:
        self.wit: Final = wit
        self.cases: Final = cases

    def lift(self, plain: Any) -> Any:
        case, payload = plain
        made, kind = self.cases[case]
        return made() if kind is None else made(kind.lift(payload))


class Failure(Kind):
    """The variant of all errors."""

    def __init__(self, wit: str, cases: dict[str, tuple[type[RequestError], Kind | None]]) -> None:
        self.wit: Final = wit
        self.cases: Final = cases

    def lift(self, plain: Any) -> RequestError:
        case, payload = plain
        error, kind = self.cases[case]
        return error(**kind.lift(payload)) if kind else error("the component could not be run")


class Outcome(Kind):
    """The result of one item of a batch: its value or its error."""

    def __init__(self, ok: Kind, error: Failure) -> None:
        self.ok: Final = ok
        self.error: Final = error

    def lift(self, plain: Any) -> Any:
        is_ok, value = plain
        return self.ok.lift(value) if is_ok else self.error.lift(value)


class Function(Generic[T]):
    """A function of the component; `T` is what it returns."""

    def __init__(
        self,
        interface: str,
        name: str,
        parameters: tuple[Field, ...],
        outcome: Outcome,
        creates: bool = False,
    ) -> None:
        self.interface: Final = interface
        self.name: Final = name
        self.parameters: Final = parameters
        self.outcome: Final = outcome
        self.creates: Final = creates
        """Whether it creates something, which may exist although its answer was lost."""
        self._written: Final = {field.wit: field for field in _written_alone(parameters)}

    def lower(self, arguments: tuple[object, ...]) -> tuple[Any, ...]:
        """What the component takes; `InvalidInput` for what it cannot take."""
        given = zip(self.parameters, arguments, strict=True)
        return tuple([field.kind.lower(value, field.name) for field, value in given])

    def lift(self, plain: Any) -> T:
        """What a user gets; the component's error is raised."""
        lifted: Any = self.outcome.lift(plain)
        for error in lifted if isinstance(lifted, list) else [lifted]:
            if isinstance(error, RequestError) and error.problem is not None:
                found = error.problem.subject
                written = self.written(found)
                error.problem = replace(error.problem, subject=written)
                error.message = error.message.replace(found, written, 1)
                error.args = (error.message,)
        if isinstance(lifted, RequestError):
            raise lifted
        return cast(T, lifted)

    def written(self, path: str) -> str:
        """What the user wrote for what the component names. Keys of free-form JSON stay."""
        first, dot, rest = path.partition(".")
        if dot and any(field.wit == first and not field.name for field in self.parameters):
            return self.written(rest)
        return _written(path, self._written)


def encoded(text: str, at: str) -> bytes:
    """UTF-8, which has no lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        found = f"a lone surrogate at position {error.start}"
        raise invalid_input(at, found, "text that is Unicode") from None


def joined(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _written_alone(parameters: tuple[Field, ...]) -> Iterator[Field]:
    """All that the component names without a prefix: parameters, and fields of their records."""
    for parameter in parameters:
        record = parameter.kind.record()
        if parameter.name:
            yield parameter
        if record is not None:
            yield from record.fields


def _written(path: str, known: Mapping[str, Field]) -> str:
    first, dot, rest = path.partition(".")
    field = known.get(first)
    if field is None:
        return path
    record = field.kind.record()
    if record is not None:
        rest = _written(rest, {inner.wit: inner for inner in record.fields})
    return field.name + dot + rest


BOOL = Bool()
U16 = Integer("u16")
U32 = Integer("u32")
S64 = Integer("s64")
F64 = Float()
TEXT = Text()
JSON = JsonText()
TEXTS = Texts()
BODY = Body()
SECONDS = Seconds("u32")
