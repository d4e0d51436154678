"""The same optimizers over numpy arrays: for JAX, scikit-learn or a loop of one's own.

    optimizer = mousse.numpy.Optimizer({"w": w, "b": b}, {"w": "mousse", "b": "adamw"}, lr=0.02)
    optimizer.step({"w": dw, "b": db})      # w and b change in place; a missing gradient is skipped
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from . import _core, _options, _tables
from ._errors import InvalidArgument


def _shape(array):
    if array.ndim < 2:
        return 1, array.size
    return array.shape[0], array.size // array.shape[0]


def _usable(name, array, what):
    if not isinstance(array, numpy.ndarray) or array.dtype != numpy.float32 or not array.flags.c_contiguous:
        raise InvalidArgument(f"the {what} of {name} must be a contiguous numpy array of float32")
    return array


def _refuse_unnamed(arrays, what):
    if not isinstance(arrays, Mapping):
        raise InvalidArgument(f"{what} are given as a {type(arrays).__name__}; give them by name: {{'w': array}}")


class Optimizer(_core.Observed):
    """params: arrays by name, updated in place. algorithm: one name, or one for every array.

    options: for every algorithm that has them, and those of the optimizer as a whole besides clip_norm (average, wrapper,
    ...); set() changes one of an algorithm later. A copy (deepcopy, pickle) has copies of the
    arrays, the state, and no observer.
    """

    def __init__(self, params: Mapping[str, numpy.ndarray], algorithm: str | Mapping[str, str] = "mousse", *,
                 threads: int = 0, clip_norm: float = 0.0, **options: Any) -> None:
        _refuse_unnamed(params, "parameters")
        if not params:
            raise InvalidArgument("there are no parameters to optimize")
        self._params = {name: _usable(name, array, "value") for name, array in params.items()}
        for name, array in self._params.items():
            if not array.flags.writeable:
                raise InvalidArgument(f"the value of {name} is read-only")
            if array.size == 0:
                raise InvalidArgument(f"the value of {name} has no elements: leave it out")
        chosen = algorithm if isinstance(algorithm, Mapping) else dict.fromkeys(params, algorithm)
        if set(chosen) != set(params):
            raise InvalidArgument(f"algorithms are given for {sorted(chosen)}, parameters are {sorted(params)}")
        self._algorithms, self._wanted_threads = chosen, threads
        self._whole = _options.of_the_whole(options | {"clip_norm": clip_norm or 0.0})
        options = {name: value for name, value in options.items() if name not in self._whole}
        self._given = {name: {k: v for k, v in options.items() if k in _tables.options(name)}
                         for name in dict.fromkeys(chosen.values())}
        unused = [o for o in options if not any(o in given for given in self._given.values())]
        if unused:
            raise _options.unknown(next(iter(self._given)), unused[0])
        self._observer, self._inputs = None, {}
        self._build()

    def _build(self):
        self._addresses = {name: array.ctypes.data for name, array in self._params.items()}
        self._threads = _core.usable_threads(self._wanted_threads)
        self._core, self._groups = _core.Core(self._threads), {}
        for name, given in self._given.items():
            self._groups[name] = self._core.add_group(name, _options.checked(name, given))
        for name, array in self._params.items():
            rows, cols = _shape(array)
            self._core.add_tensor(self._groups[self._algorithms[name]], _core.Tensor(name, rows, cols, array.ctypes.data))
        self._core.set_whole(self._whole)
        self._core.prepare()
        self._core.observe(self._observer is not None)
        for (name, given), array in self._inputs.items():
            self._core.bind_input(name, given, 0 if array is None else array.ctypes.data)

    def _rebuild_after_fork(self):
        if self._threads != _core.usable_threads(self._wanted_threads):
            state = self._core.save()
            self._build()
            self._core.load(state)

    def __getstate__(self):
        of_this_process = ("_core", "_groups", "_addresses", "_threads", "_telling")
        mine = {key: value for key, value in self.__dict__.items() if key not in of_this_process}
        return mine | {"_observer": None, "_state": self._core.save()}

    def __setstate__(self, state):
        self.__dict__.update(state)
        saved = self.__dict__.pop("_state")
        self._build()
        self._core.load(saved)

    def _refuse_unknown(self, names):
        unknown = set(names) - set(self._params)
        if unknown:
            raise InvalidArgument(f"there is no parameter {sorted(unknown)[0]!r}")

    def bind_input(self, name: str, given: str, array: numpy.ndarray | None) -> None:
        """What kfac, newtonmuon and limuon take beside the gradient of `name`; mousse.inputs(algorithm) lists it. Read
        in every step, it may change in place; None takes it away."""
        self._refuse_unknown([name])
        row = _options.input_of(self._algorithms[name], given)
        if array is not None:
            shape = row.shape(*_shape(self._params[name]))
            if _usable(name, array, given).shape != shape:
                raise InvalidArgument(f"the {given} of {name} is {array.shape}; it must be {shape}")
        self._core.bind_input(name, given, 0 if array is None else array.ctypes.data)
        self._inputs[name, given] = array

    def step(self, gradients: Mapping[str, Any]) -> None:
        """One step. A name that is missing, or None, is skipped; NaN raises NotFinite and changes nothing."""
        _refuse_unnamed(gradients, "gradients")
        self._refuse_unknown(gradients)
        alive, addresses = [], []
        for name, value in self._params.items():
            gradient = gradients.get(name)
            if gradient is not None:
                gradient = numpy.asarray(gradient, dtype=numpy.float32, order="C")
                if gradient.shape != value.shape:
                    raise InvalidArgument(f"the gradient of {name} is {gradient.shape}, its value {value.shape}")
                alive.append(gradient)
            addresses += (self._addresses[name], 0 if gradient is None else gradient.ctypes.data)
        self._rebuild_after_fork()
        with self._core.lock:
            self._refuse_steps_of_observers()
            self._core.bind(addresses)
            self._tell(self._core.step())

    def set(self, option: str, value: Any, algorithm: str | None = None) -> None:
        """An option of one algorithm's group, or of all that have it, or of the optimizer as a whole; "lr", or
        "lr_factor" for all algorithms together, for a schedule."""
        if algorithm is None and option in _tables.object_options():
            given = _options.of_the_whole({option: value})
            self._core.set_whole(given)
            self._whole.update(given)
            return
        if algorithm is not None and algorithm not in self._groups:
            raise InvalidArgument(f"no parameter is under {algorithm!r}; the algorithms here are {', '.join(self._groups)}")
        names = [n for n in ([algorithm] if algorithm else self._groups) if option in _tables.options(n)]
        if not names:
            raise _options.unknown(algorithm or next(iter(self._groups)), option)
        for name in names:
            self._core.set(self._groups[name], option, value)
            self._given[name][option] = value

    def save(self) -> bytes:
        return self._core.save()

    def load(self, data: bytes) -> None:
        self._core.load(data)

    def observe(self, function: Callable[[str, str, float], Any] | None) -> None:
        """function(name, quantity, value) after every step; None: nobody."""
        self._observer = function
        self._core.observe(function is not None)

    def arrays(self, name: str) -> dict[str, numpy.ndarray]:
        """What is kept about a parameter: copies of "momentum" and the like."""
        if name not in self._params:
            raise InvalidArgument(f"there is no parameter {name!r}")
        return {k: numpy.frombuffer(v, dtype=numpy.float32) for k, v in self._core.state(name).items()}

    def evaluation_weights(self) -> dict[str, numpy.ndarray]:
        """The weights to evaluate with: the average, or what a wrapper keeps for it; without either, the values."""
        return {name: numpy.frombuffer(self._core.evaluated(name), dtype=numpy.float32).reshape(array.shape)
                for name, array in self._params.items()}

    @property
    def steps(self) -> int:
        return self._core.steps
