"""One mousse_optimizer of the library, with Python's exceptions, bytes and callables.

It knows addresses, not arrays: torch.py and numpy.py keep the arrays alive and hand these over.
"""
from __future__ import annotations

import dataclasses
import functools
import os
import threading
import weakref

from ._errors import BadFormat, CommunicationFailed, InvalidArgument, check, shown, warn
from ._library import ffi, lib
from ._tables import value_text

FLOAT32, BFLOAT16, FLOAT16 = lib.MOUSSE_FLOAT32, lib.MOUSSE_BFLOAT16, lib.MOUSSE_FLOAT16

_forked = False


def _after_fork():
    # The threads of OpenMP's pool do not exist in the child: a step there must not wait for them.
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)


def usable_threads(wanted: int) -> int:
    """So many as are wanted (0: all), but one in a process that was forked."""
    return 1 if _forked else wanted


@dataclasses.dataclass
class Tensor:
    """How a tensor lies in memory; the members are those of mousse_tensor."""
    name: str
    rows: int
    cols: int
    value: int
    grad: int = 0
    count: int = 1
    row_blocks: int = 1
    transposed: bool = False
    type: int = FLOAT32


class _Stream:
    """Bytes that a save writes or a load reads; what is raised meanwhile is raised after the call."""

    def __init__(self, data):
        self.data, self.place, self.raised = data, 0, None

    def write(self, data, size):
        self.data.extend(ffi.buffer(data, size))
        return 0

    def read(self, data, size):
        if self.place + size > len(self.data):
            self.raised = BadFormat(f"the saved state is cut short: it has {len(self.data)} bytes and goes on")
            return 1
        ffi.memmove(data, self.data[self.place:self.place + size], size)
        self.place += size
        return 0

    def attempt(self, call, *arguments):
        try:
            return call(*arguments)
        except BaseException as reason:
            self.raised = reason
            return 1


# error=1: what Python raises outside of attempt must not look like success either.
@ffi.callback("int(void *, const void *, size_t)", error=1)
def _write(user, data, size):
    stream = ffi.from_handle(user)
    return stream.attempt(stream.write, data, size)


@ffi.callback("int(void *, void *, size_t)", error=1)
def _read(user, data, size):
    stream = ffi.from_handle(user)
    return stream.attempt(stream.read, data, size)


class _Differences:
    """What does not fit of a state. A difference must not be lost: what is raised meanwhile is raised after the call."""

    def __init__(self):
        self.rows, self.raised = [], None

    def add(self, difference, name, text):
        try:
            self.rows.append((int(difference), shown(name), shown(text)))
        except BaseException as reason:
            self.raised = reason


@ffi.callback("void(void *, mousse_difference, const char *, const char *)")
def _report(user, difference, name, text):
    ffi.from_handle(user).add(difference, name, text)


@ffi.callback("void(void *, int, const char *)")
def _log(told, level, text):
    ffi.from_handle(told).append(shown(text))


class _Observer:
    """Keeps every quantity of a step until that is over; what is raised meanwhile is raised then."""

    def __init__(self):
        self.rows, self.raised = [], None

    def add(self, name, quantity, value):
        try:
            self.rows.append((shown(name), shown(quantity), value))
        except BaseException as reason:
            self.raised = reason


@ffi.callback("void(void *, const char *, const char *, double)")
def _observe(user, name, quantity, value):
    ffi.from_handle(user).add(name, quantity, value)


def _alone(method):
    """Waits for what another thread does with the optimizer: the library takes one at a time."""
    @functools.wraps(method)
    def call(self, *arguments):
        with self.lock:
            return method(self, *arguments)
    return call


class Observed:
    """An optimizer with an observer, which is told of a step when that is over: it may use the optimizer then."""
    _observer = None
    _telling = False

    def _refuse_steps_of_observers(self):
        if self._telling:
            raise InvalidArgument("an observer cannot take a step of the optimizer that it observes: it would be told of that")

    def _tell(self, rows):
        """Until it puts another one, or none, in its place."""
        observer, self._telling = self._observer, True
        try:
            for row in rows:
                if observer is not None and self._observer is observer:
                    observer(*row)
        finally:
            self._telling = False


def _release(handle, lock):
    """When the program ends, a daemon thread may be in a step: it completes that one and, for want of the lock, begins
    no other. One that waits for other processes is left as it is."""
    if _forked or lock.acquire(timeout=30):
        lib.mousse_destroy(handle)


class Core:
    """Build with add_group and add_tensor, then prepare, then step."""

    def __init__(self, threads: int = 0, comm=None):
        self._comm = comm  # kept alive: the library borrows its context
        env = ffi.new("mousse_env *")
        env.struct_size = ffi.sizeof("mousse_env")
        env.threads = threads
        self._told = []  # the library's warnings in the last step or load, which warns of them if it succeeds
        self._told_handle = env.user = ffi.new_handle(self._told)
        env.log = _log
        if comm is not None:
            env.comm = comm.pointer
        out = ffi.new("mousse_optimizer **")
        check(lib.mousse_create(env, out))
        self.handle = out[0]
        self.lock = threading.RLock()  # what runs without Python's lock runs alone; an observer may come back
        self._release = weakref.finalize(self, _release, self.handle, self.lock)
        self._observer = _Observer()
        self._observer_handle = ffi.new_handle(self._observer)
        self._names, self._bindings, self._bound = [], None, None

    def _check(self, status, stream=None) -> None:
        """Raises what a callback raised, or else what the status means."""
        if stream is not None and stream.raised is not None:
            raise stream.raised
        reason = None if self._comm is None else self._comm.raised
        if reason is not None:
            self._comm.raised = None
            if not isinstance(reason, Exception):
                raise reason  # KeyboardInterrupt and the like
        try:
            check(status, self.handle)
        except CommunicationFailed as failure:
            raise failure from reason

    def _warn(self) -> None:
        while self._told:
            warn(self._told.pop(0))

    def add_group(self, algorithm: str, options: dict) -> int:
        group = ffi.new("int *")
        check(lib.mousse_add_group(self.handle, algorithm.encode(), group), self.handle)
        for name, value in options.items():
            self.set(group[0], name, value)
        return group[0]

    def add_tensor(self, group: int, tensor: Tensor) -> None:
        if not isinstance(tensor.name, str) or "\0" in tensor.name:
            raise InvalidArgument(f"a parameter cannot be called {tensor.name!r}: a name is text without NUL")
        name = ffi.new("char[]", tensor.name.encode())
        record = ffi.new("mousse_tensor *", {
            "struct_size": ffi.sizeof("mousse_tensor"), "name": name, "rows": tensor.rows, "cols": tensor.cols,
            "count": tensor.count, "row_blocks": tensor.row_blocks, "transposed": tensor.transposed,
            "value_type": tensor.type, "grad_type": tensor.type, "value": ffi.cast("void *", tensor.value),
            "grad": ffi.cast("void *", tensor.grad)})
        check(lib.mousse_add_tensor(self.handle, group, record), self.handle)
        self._names.append(name)

    @_alone
    def set(self, group: int, option: str, value) -> None:
        check(lib.mousse_set_text(self.handle, group, option.encode(), value_text(option, value).encode()), self.handle)

    def set_whole(self, options: dict) -> None:
        """Options of the optimizer as a whole."""
        for name, value in options.items():
            self.set(lib.MOUSSE_OBJECT, name, value)

    def prepare(self) -> None:
        self._check(lib.mousse_prepare(self.handle))

    @_alone
    def bind(self, addresses: list[int]) -> None:
        """addresses: value and gradient (0: none) of every tensor in the order they were added."""
        if addresses == self._bound:
            return
        if self._bindings is None:
            self._bindings = ffi.new("mousse_binding[]", len(self._names))
            for binding, name in zip(self._bindings, self._names):
                binding.name = name
            self._words = memoryview(ffi.buffer(self._bindings)).cast("B").cast("N")
        self._bound = None
        self._words[1::3], self._words[2::3] = _words(addresses[0::2]), _words(addresses[1::2])
        check(lib.mousse_rebind_all(self.handle, self._bindings, len(self._names)), self.handle)
        self._bound = addresses

    @_alone
    def bind_input(self, name: str, given: str, address: int) -> None:
        """What the algorithm takes beside the gradient (address 0: nothing)."""
        data = ffi.cast("float *", address)
        check(lib.mousse_bind_input(self.handle, name.encode(), given.encode(), data), self.handle)

    @_alone
    def step(self) -> list[tuple[str, str, float]]:
        """One step; (name, quantity, value) of all that is observed. Python's lock is released meanwhile."""
        self._told.clear()
        self._observer.rows, self._observer.raised = [], None
        self._check(lib.mousse_step(self.handle), self._observer)
        self._warn()
        return self._observer.rows

    @_alone
    def save(self) -> bytes:
        """The whole state. With several ranks [collective]; the bytes are rank 0's, others get none."""
        stream = _Stream(bytearray())
        self._check(lib.mousse_save(self.handle, _write, ffi.new_handle(stream)), stream)
        return bytes(stream.data)

    @_alone
    def load(self, data: bytes) -> None:
        """A state of exactly these parameters; one that does not fit changes nothing."""
        self._told.clear()
        stream = _Stream(data)
        self._check(lib.mousse_load(self.handle, _read, ffi.new_handle(stream)), stream)
        self._warn()

    @_alone
    def load_matching(self, data: bytes) -> list[tuple[int, str, str]]:
        """What fits of a state; the differences as (kind, name, sentence)."""
        stream, differences = _Stream(data), _Differences()
        report = ffi.new_handle(differences)
        self._check(lib.mousse_load_matching(self.handle, _read, ffi.new_handle(stream), _report, report), stream)
        if differences.raised is not None:
            raise differences.raised
        return differences.rows

    @_alone
    def observe(self, wanted: bool) -> None:
        """Whether step() has anything to tell."""
        check(lib.mousse_observe(self.handle, _observe if wanted else ffi.NULL, self._observer_handle), self.handle)

    @_alone
    def state(self, name: str) -> dict[str, bytearray]:
        """The arrays kept for a parameter, as float32 in bytes."""
        arrays, key = {}, name.encode()
        while (array := lib.mousse_state_name(self.handle, key, len(arrays))) != ffi.NULL:
            count = lib.mousse_state_count(self.handle, key, array)
            data = bytearray(4 * count)
            self._check(lib.mousse_state_read(self.handle, key, array, ffi.from_buffer("float[]", data), count))
            arrays[shown(array)] = data
        return arrays

    @_alone
    def evaluated(self, name: str) -> bytearray:
        """The weights to evaluate with, as float32 row by row in bytes."""
        rows, cols, key = ffi.new("size_t *"), ffi.new("size_t *"), name.encode()
        check(lib.mousse_param_shape(self.handle, key, rows, cols), self.handle)
        data = bytearray(4 * rows[0] * cols[0])
        self._check(lib.mousse_read_weights(self.handle, key, ffi.from_buffer("float[]", data), rows[0] * cols[0]))
        return data

    def plan(self, rank: int = 0) -> int:
        """Before prepare: the bytes that `rank` would hold."""
        held = ffi.new("size_t *")
        check(lib.mousse_plan(self.handle, rank, held), self.handle)
        return held[0]

    def parameters(self) -> list[tuple[str, int, float]]:
        """Name, bytes of state and operations of an update, of every parameter."""
        rows = []
        while (name := lib.mousse_param_name(self.handle, len(rows))) != ffi.NULL:
            rows.append((shown(name), lib.mousse_param_state_bytes(self.handle, name),
                         lib.mousse_param_flops(self.handle, name)))
        return rows

    def rank_state_bytes(self, rank: int) -> int:
        """What a rank keeps between steps."""
        size, flops = ffi.new("size_t *"), ffi.new("double *")
        check(lib.mousse_rank_load(self.handle, rank, size, flops), self.handle)
        return size[0]

    @property
    def steps(self) -> int:
        return lib.mousse_steps_done(self.handle)

    @property
    def bytes_held(self) -> int:
        return lib.mousse_bytes_held(self.handle)


def _words(numbers):
    return memoryview(bytearray(b"".join(n.to_bytes(8, "little") for n in numbers))).cast("N")
