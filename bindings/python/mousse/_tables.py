"""The library's tables: its algorithms and their options, with defaults, ranges and help."""
from __future__ import annotations

import dataclasses

from ._errors import InvalidArgument, UnknownName
from ._library import ffi, lib


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of an algorithm. `initial` is its default; a choice is given by name."""
    name: str
    help: str
    initial: float | int | str | bool
    low: float
    high: float
    choices: tuple[str, ...]
    fixed: bool  # cannot change once training has begun
    integer: bool = False  # whole numbers only

    @property
    def is_switch(self) -> bool:
        return self.choices == ("off", "on")


@dataclasses.dataclass(frozen=True)
class Input:
    """An array that an algorithm takes beside the gradient. rows and cols: whether it has as many as the parameter's
    matrix has "rows" (outputs) or "cols" (inputs)."""
    name: str
    help: str
    rows: str
    cols: str

    def shape(self, rows: int, cols: int) -> tuple[int, int]:
        """Of the array, for a matrix of this shape."""
        sides = {"rows": rows, "cols": cols}
        return sides[self.rows], sides[self.cols]


def _text(pointer) -> str:
    return ffi.string(pointer).decode()


def _choices(row) -> tuple[str, ...]:
    names = []
    while row.choices != ffi.NULL and row.choices[len(names)] != ffi.NULL:
        names.append(_text(row.choices[len(names)]))
    return tuple(names)


def _initial(row, choices):
    if choices == ("off", "on"):
        return bool(row.initial)
    if choices:
        return choices[int(row.initial)]
    return int(row.initial) if row.integer else row.initial


def _rows(at):
    rows = {}
    while (row := at(len(rows))) != ffi.NULL:
        choices = _choices(row)
        rows[_text(row.name)] = Option(_text(row.name), _text(row.help), _initial(row, choices), row.min,
                                       row.max, choices, bool(row.fixed), bool(row.integer))
    return rows


def algorithms() -> list[str]:
    """The names of all algorithms, in the library's order."""
    names = []
    while (name := lib.mousse_algorithm_name(len(names))) != ffi.NULL:
        names.append(_text(name))
    return names


def algorithm_help(algorithm: str) -> str:
    """One sentence about an algorithm."""
    text = lib.mousse_algorithm_help(algorithm.encode()) if isinstance(algorithm, str) else ffi.NULL
    if text == ffi.NULL:
        raise UnknownName(f"there is no algorithm '{algorithm}'; there are {', '.join(algorithms())}")
    return _text(text)


_known: dict[str, dict[str, Option]] = {}


def options(algorithm: str) -> dict[str, Option]:
    """The options of an algorithm by name."""
    if algorithm not in _known:
        algorithm_help(algorithm)  # refuses an unknown name
        name = algorithm.encode()
        _known[algorithm] = _rows(lambda index: lib.mousse_algorithm_option(name, index))
    return _known[algorithm]


def inputs(algorithm: str) -> dict[str, Input]:
    """What an algorithm takes beside the gradient, by name; most take nothing. bind_input() gives it."""
    algorithm_help(algorithm)  # refuses an unknown name
    sides, found = {lib.MOUSSE_ROWS: "rows", lib.MOUSSE_COLS: "cols"}, {}
    while (row := lib.mousse_algorithm_input(algorithm.encode(), len(found))) != ffi.NULL:
        name = _text(row.name)
        found[name] = Input(name, _text(row.help), sides[row.rows], sides[row.cols])
    return found


def object_options() -> dict[str, Option]:
    """The options of an optimizer as a whole, such as clip_norm."""
    if "" not in _known:
        _known[""] = _rows(lib.mousse_object_option)
    return _known[""]


def value_text(option: str, value) -> str:
    """A value as the library reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        raise InvalidArgument(f"{option} = {value!r} is not a number") from None


def describe(algorithm: str) -> str:
    """An algorithm's options as a text for people."""
    lines = [algorithm_help(algorithm), ""]
    for row in options(algorithm).values():
        allowed = ", ".join(row.choices) if row.choices and not row.is_switch else ""
        allowed = allowed or ("True or False" if row.is_switch else f"{row.low:g} to {row.high:g}")
        lines.append(f"    {row.name} = {row.initial!r}: {row.help} ({allowed})")
    for row in inputs(algorithm).values():
        lines.append(f"    bind_input(..., {row.name!r}, array): {row.help} ({row.rows} x {row.cols})")
    return "\n".join(lines)
