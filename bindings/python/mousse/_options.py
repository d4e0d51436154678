"""Options of groups: checked against the library's tables before anything is built."""
from __future__ import annotations

import difflib

from ._errors import InvalidArgument, UnknownName
from ._tables import Input, Option, inputs, object_options, options

#: Names that users of other optimizers have in their fingers, where ours differ.
_familiar = {"learning_rate": "lr", "momentum": "mu", "wd": "weight_decay", "betas": "beta1 and beta2",
             "epsilon": "eps", "adjust_lr": "shape", "ns_steps": "newton_schulz",
             "precondition_frequency": "refresh_every", "shampoo_beta": "beta2"}


def unknown(algorithm: str, name: str) -> UnknownName:
    """The exception for an option that an algorithm does not have, with a way on."""
    table = options(algorithm)
    if name in object_options():
        return UnknownName(f"{algorithm} has no option '{name}'; it is of the optimizer as a whole: "
                           f"Optimizer(..., {name}=...)")
    hint = _familiar.get(name)
    if hint is None or not any(part in table for part in hint.split(" and ")):
        hint = next(iter(difflib.get_close_matches(name, table, 1)), None)
    ask = f"did you mean {hint}? " if hint else ""
    return UnknownName(f"{algorithm} has no option '{name}'; {ask}It has {', '.join(table)}")


def checked(algorithm: str, given: dict) -> dict:
    """Every option of the algorithm with its given value or default; refuses other names."""
    table = options(algorithm)
    for name in given:
        if name not in table:
            raise unknown(algorithm, name)
    return {name: value_of(row, given.get(name, row.initial)) for name, row in table.items()}


def of_the_whole(given: dict) -> dict:
    """Takes the options of the optimizer as a whole (clip_norm, average, wrapper, ...) out of what is given."""
    table = object_options()
    names = [name for name in given if name in table]
    return {name: value_of(table[name], given.pop(name)) for name in names}


def input_of(algorithm: str, name: str) -> Input:
    """What an algorithm takes beside the gradient, by name."""
    table = inputs(algorithm)
    if name in table:
        return table[name]
    what = f"it takes {', '.join(table)}" if table else "it takes nothing but gradients"
    raise UnknownName(f"{algorithm} takes no input {name!r}; {what}")


def value_of(row: Option, value):
    """A value in the form that Python uses for this option."""
    if row.is_switch and not isinstance(value, str):
        return bool(value)
    if row.is_switch:
        return _one_of(row, value) == "on"
    if row.choices:
        return _one_of(row, value)
    return _number(row, value)


def _one_of(row: Option, value) -> str:
    if value in row.choices:
        return value
    raise InvalidArgument(f"{row.name} = {value!r} is not allowed; it is one of {', '.join(row.choices)}")


def _number(row: Option, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{row.name} = {value!r} is not a number") from None
    if not row.low <= number <= row.high:
        raise InvalidArgument(f"{row.name} = {value!r} is out of range; it goes from {row.low:g} to {row.high:g}")
    if row.integer and not number.is_integer():
        raise InvalidArgument(f"{row.name} = {value!r} must be a whole number")
    return value
