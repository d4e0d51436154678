"""Optimizers of PyTorch with the library's algorithms, for CPU tensors.

    optimizer = mousse.torch.Optimizer(mousse.torch.groups(model), lr=0.02)   # routed by layer
    optimizer = mousse.torch.Muon(matrices, lr=0.02)                          # one algorithm for all

They are torch.optim.Optimizers: schedulers, closures, state_dict, add_param_group, deepcopy and
pickle work. A step is all or nothing: a gradient that is not finite raises mousse.NotFinite and
changes nothing. Parameters without a gradient are skipped. After load_state_dict training goes on
in the same bits.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from . import _core, _options, _tables
from ._errors import BadFormat, InvalidArgument, warn
from ._torch_groups import groups
from ._torch_layout import Slot, refuse_shared_copies

#: Keys of a parameter group besides the algorithm's options.
_layout_keys = {"transposed": False, "experts": False, "row_blocks": 1}
_lasting_keys = ("algorithm", "names", *_layout_keys)
_group_keys = {"params", *_lasting_keys}
#: What torch's schedulers keep in a group, for groups that were another optimizer's.
_scheduler_keys = {"initial_lr", "max_lr", "min_lr", "swa_lr"}


def _threads() -> int:
    return _core.usable_threads(min(torch.get_num_threads(), 1024))  # the library takes no more


def _alone(method):
    """Waits for what another thread does with the optimizer."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        with self._lock:
            return method(self, *arguments, **named)
    return call


class Optimizer(torch.optim.Optimizer, _core.Observed):
    """Parameter groups under one algorithm each: {"params": ..., "algorithm": "muon", "lr": ...}.

    Further keys of a group: `names` (keys in the saved state; groups() sets them), `transposed`
    (matrices stored as inputs x outputs), `experts` (the first dimension counts matrices) and
    `row_blocks` (so many matrices on top of each other: 3 for fused queries, keys and values).
    defaults: options for every group whose algorithm has them, and those of the optimizer as a whole besides clip_norm
    (average, wrapper, ...; evaluating() has the weights that they are for). process_group: True, or a group of
    torch.distributed, divides the state over its processes; gradients must be averaged already.
    """

    def __init__(self, params: Iterable[Any], algorithm: str | None = None, *, process_group: Any = None,
                 clip_norm: float = 0.0, **defaults: Any) -> None:
        self._lock = threading.RLock()  # for what replaces the library's object, which has one of its own
        self._core = self._slots = self._pushed = self._members = self._observer = None
        self._saved = None  # a state that waits for the first step
        self._inputs = {}  # tensors by parameter and name
        self._process_group, self._evaluated = process_group, None
        self._whole = _options.of_the_whole(defaults | {"clip_norm": clip_norm or 0.0})
        defaults = {name: value for name, value in defaults.items() if name not in self._whole}
        self._asked = set(defaults)
        self._defaults_algorithm = algorithm
        super().__init__(params, dict(defaults, algorithm=algorithm))
        self._refuse_unused_defaults()

    def _refuse_unused_defaults(self):
        for name in self._asked:
            having = [g["algorithm"] for g in self.param_groups if name in _tables.options(g["algorithm"])]
            if not having:
                raise _options.unknown(self.param_groups[0]["algorithm"], name)

    @_alone
    def add_param_group(self, param_group: dict) -> None:
        """Allowed at any time; the other parameters keep their state."""
        group = dict(param_group)
        algorithm = group.get("algorithm") or self.defaults.get("algorithm")
        if algorithm is None:
            raise InvalidArgument("a parameter group needs an algorithm: {'params': ..., 'algorithm': 'muon'}; "
                                  "there are " + ", ".join(_tables.algorithms()))
        table = _tables.options(algorithm)
        given = {k: v for k, v in self.defaults.items() if k in table}
        given.update({k: v for k, v in group.items() if k not in _group_keys | _scheduler_keys})
        group.update(_options.checked(algorithm, given), algorithm=algorithm)
        if not isinstance(group["params"], (torch.Tensor, set)):
            group["params"] = list(group["params"])
        if group.get("names") is not None:
            group["names"] = _listed(group["names"], group["params"])
        self._rebuild_later()
        super().add_param_group(group)
        added = self.param_groups[-1]
        for name in set(added) - _group_keys - _scheduler_keys - set(table):
            del added[name]  # defaults of other algorithms, which the base class fills in

    # The library's object is made at the first step and whenever something it was made for changes.

    def _rebuild_later(self):
        if getattr(self, "_core", None) is not None:
            self._saved, self._core = self._state_bytes(), None

    def _must_rebuild(self):
        """Whether the number of threads is another; _update sees on its way whether a layout is. With several processes
        both are asked here, and of all: a rebuild saves the state, which they do together."""
        changed, comm = self._thread_count != _threads(), self._core._comm
        if comm is None:
            return changed
        return comm.any(changed or not all(slot.is_as_described() for slot in self._slots))

    def _comm(self):
        if self._process_group is None:
            return None
        from ._torch_comm import Comm
        return Comm(None if self._process_group is True else self._process_group)

    def _describe(self, core):
        """Registers everything with a new object of the library; the slots, and the options of every group."""
        slots, pushed, names = [], [], iter(_names(self.param_groups))
        for group in self.param_groups:
            for name, row in _tables.options(group["algorithm"]).items():
                group.setdefault(name, row.initial)  # an option that is younger than a saved state
            wanted = {name: _plain(group[name]) for name in _tables.options(group["algorithm"])}
            number = core.add_group(group["algorithm"], wanted)
            pushed.append(wanted)
            for param in group["params"]:
                slot = Slot(next(names), param, **{key: group[key] for key in _layout_keys.keys() & group})
                core.add_tensor(number, slot.tensor())
                slots.append(slot)
        refuse_shared_copies(slots)
        core.set_whole(self._whole)
        return slots, pushed

    def _build(self, whole=False):
        self._thread_count = _threads()
        core = _core.Core(self._thread_count, self._comm())
        slots, pushed = self._describe(core)
        core.prepare()
        core.observe(self._observer is not None)
        if self._saved is not None:
            _adopt(core, self._saved, whole)
        self._slots, self._pushed, self._members = slots, pushed, self._grouped()
        self._saved, self._core = None, core

    def _grouped(self):
        return [(list(map(id, group["params"])), list(map(group.get, _lasting_keys)), list(group.get("names") or ()))
                for group in self.param_groups]  # names once more: their list may change in place

    def _push_options(self):
        """What schedulers and people have changed in param_groups since the last step."""
        for number, (group, pushed) in enumerate(zip(self.param_groups, self._pushed)):
            for name, before in pushed.items():
                if group[name] is not before and group[name] != before:
                    value = _plain(group[name])
                    self._core.set(number, name, value)
                    pushed[name] = value

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; the loss of the closure, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._step()
        return loss

    @_alone
    def _step(self):
        self._refuse_steps_of_observers()
        if self._evaluated is not None:
            raise InvalidArgument("a step is not for the weights of evaluating(): take it after the with statement")
        self._refuse_changed_groups()
        if self._core is not None and self._must_rebuild():
            self._rebuild_later()
        if self._core is None:
            self._build()
        self._push_options()
        self._update()

    def _refuse_changed_groups(self):
        if self._core is not None and self._members != self._grouped():
            raise InvalidArgument("param_groups have other parameters, names, algorithms or layouts than in the last step, "
                                  "and state is kept for those: use add_param_group, or make a new optimizer")

    def _update(self):
        gradients, addresses = [], []
        for slot in self._slots:
            gradient = slot.usual_grad()
            if gradient is not None:
                addresses += (slot.param.data_ptr(), gradient.data_ptr())
            elif slot.is_as_described():
                gradient = self._unusual_grad(slot)
                addresses += (slot.value_address(), 0 if gradient is None else gradient.data_ptr())
            else:
                self._rebuild_later()
                self._build()
                return self._update()
            gradients.append(gradient)  # alive until the step is over
        core = self._core  # an observer may have it made anew
        with core.lock:
            core.bind(addresses)
            self._bind_inputs()
            before = core.steps
            try:
                rows = core.step()
            finally:  # Ctrl-C, or a warning that is an error, comes after a step that was taken
                if core.steps != before:
                    self._take_over([slot for slot, gradient in zip(self._slots, gradients) if gradient is not None])
            self._tell(rows)

    @_alone
    def bind_input(self, param: str | torch.Tensor, name: str, tensor: torch.Tensor | None) -> None:
        """What kfac, newtonmuon and limuon take beside the gradient of a parameter (its name, or itself), as
        mousse.inputs(algorithm) lists it; with experts or row_blocks one matrix for each. Read in every step, it may
        change in place; None takes it away."""
        group, param = self._place_of(param)
        self._inputs.setdefault(param, {})[name] = _options.input_of(group["algorithm"], name), tensor

    def _place_of(self, param):
        """The group of a parameter (its name, or itself), and the parameter."""
        names = iter(_names(self.param_groups))
        for group in self.param_groups:
            for each, name in zip(group["params"], names):
                if each is param or (isinstance(param, str) and name == param):
                    return group, each
        raise InvalidArgument(f"there is no parameter {param!r}")

    def _bind_inputs(self):
        for slot in self._slots if self._inputs else ():
            for row, tensor in self._inputs.get(slot.param, {}).values():
                for matrix, address in slot.input_addresses(row, tensor):
                    self._core.bind_input(matrix, row.name, address)

    @staticmethod
    @torch.no_grad()
    def _take_over(slots):
        """What the library has written, also into copies."""
        for slot in slots:
            slot.deliver()
            slot.note_change()

    @staticmethod
    @torch.no_grad()
    def _unusual_grad(slot):
        """For a value or a gradient that has to be copied, and for none."""
        slot.fetch()
        return slot.grad_like_value()

    # Evaluating.

    @_alone
    @torch.no_grad()
    def evaluation_weights(self) -> dict[torch.Tensor, torch.Tensor]:
        """The weights to evaluate with, of every parameter, as float32: the average, or what a wrapper keeps for it;
        without either, the values themselves. With several processes, called by all of them."""
        if self._evaluated is not None:
            raise InvalidArgument("inside of evaluating() the parameters are the weights to evaluate with")
        self._refuse_changed_groups()
        if self._core is not None and (self._must_rebuild() or not all(slot.is_as_described() for slot in self._slots)):
            self._rebuild_later()
        if self._core is None:
            self._build()
        addresses = []
        for slot in self._slots:
            slot.fetch()
            addresses += (slot.value_address(), 0)
        with self._core.lock:
            self._core.bind(addresses)
            return {slot.param: slot.from_rows([torch.frombuffer(self._core.evaluated(name), dtype=torch.float32)
                                                for name in slot.matrices()]) for slot in self._slots}

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """with optimizer.evaluating(): the parameters have the weights to evaluate with; afterwards, their own again."""
        weights = self.evaluation_weights()
        self._evaluated = {param: param.detach().clone() for param in weights}
        try:
            self._assign(weights)
            yield
        finally:
            self._assign(self._evaluated)
            self._evaluated = None

    @staticmethod
    @torch.no_grad()
    def _assign(values):
        for param, value in values.items():
            param.copy_(value)

    # Saving: the library's state is one tensor of bytes beside torch's param_groups.

    def _state_bytes(self):
        if self._core is None:
            return self._saved
        data = self._core.save()
        return data if self._core._comm is None else self._core._comm.share(data)

    @_alone
    def state_dict(self) -> dict:
        """With several processes, called by all of them; each gets the whole state."""
        if self._saved is not None:
            self._build()  # what waits for the first step lacks the parameters of a group that was added since
        result = super().state_dict()
        data = self._state_bytes()
        result["mousse"] = None if data is None else torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return result

    @_alone
    def load_state_dict(self, state_dict: dict) -> None:
        """All or nothing: a state that does not fit changes nothing."""
        if "mousse" not in state_dict:
            raise BadFormat("this state_dict is not of a mousse optimizer: it has no entry 'mousse'")
        same_names = self._compare_groups(state_dict["param_groups"])
        data = state_dict["mousse"]
        data = None if data is None else bytes(data.cpu().numpy())
        before, kept = super().state_dict(), self._state_bytes()
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "mousse"})
        self._saved, self._core = data, None
        try:
            if same_names:  # perhaps in another order
                for group, mine in zip(self.param_groups, before["param_groups"]):
                    group.update({key: mine[key] for key in ("names",) if key in mine})
            self._build(whole=True)
        except BaseException:
            super().load_state_dict(before)
            self._saved, self._core = kept, None
            raise

    def _compare_groups(self, saved):
        """Refuses what torch, which takes over a group's keys as they are, would mix up in silence. True: the names are
        the same ones. Other names (of a model that has been wrapped, say) are taken over, in their order."""
        if [len(g["params"]) for g in self.param_groups] != [len(g["params"]) for g in saved]:
            return False  # for torch to refuse
        mine = [g["algorithm"] for g in self.param_groups]
        theirs = [g.get("algorithm") for g in saved]
        if mine != theirs:
            raise BadFormat(f"the saved groups have the algorithms {theirs}, these {mine}")
        for number, pair in enumerate(zip(saved, self.param_groups)):
            for key, usual in _layout_keys.items():
                then, now = (group.get(key, usual) for group in pair)
                if then != now:
                    raise BadFormat(f"group {number} was saved with {key} = {then!r} and has {key} = {now!r} here")
        mine, theirs = _names(self.param_groups), _names(saved)
        known = set(theirs)
        if set(mine) == known:
            for number, (now, then) in enumerate(zip(_by_group(self.param_groups), _by_group(saved))):
                if now - then:
                    raise BadFormat(f"group {number} has {min(now - then)!r}, which was saved in another group, and options "
                                    "are those of the saved groups: make the groups as they were saved, in the same order")
            return True
        for now, then in zip(mine, theirs):
            if now != then and now in known:
                raise BadFormat(f"the saved state has {then!r} in the place of {now!r}, which it has elsewhere, and "
                                "not all names are the same: put the parameters into the saved order")
        return False

    def __getstate__(self):
        # What torch takes along, and ours. Not the rest of __dict__: the step that a scheduler has wrapped there, and
        # hooks, are of this object. The library's object cannot be copied, and an observer, often a lambda, belongs to
        # this optimizer and not to its copies.
        ours = {name: getattr(self, name) for name in ("_process_group", "_whole", "_asked", "_defaults_algorithm",
                                                       "_inputs")}
        return dict(super().__getstate__(), **ours, _saved=self._state_bytes(), _core=None, _slots=None, _pushed=None,
                    _members=None, _observer=None, _evaluated=None)

    def __setstate__(self, state):
        self.__dict__.setdefault("_lock", threading.RLock())
        super().__setstate__(state)

    # Watching.

    @_alone
    def observe(self, function: Callable[[str, str, float], Any] | None) -> None:
        """function(name, quantity, value) is called after every step, e.g. ("0", "update_rms", 0.2)."""
        self._observer = function
        if self._core is not None:
            self._core.observe(function is not None)

    def plan(self) -> Plan:
        """Memory and work per parameter, before or during training; nothing large is allocated."""
        core = _core.Core(_threads())
        slots, _ = self._describe(core)
        return Plan(core.plan(), [
            (name, "x".join(map(str, slot.param.shape)) or "1", bytes_, flops)
            for (name, bytes_, flops), slot in zip(_per_slot(core, slots), slots)])

    @_alone
    def arrays(self, param: str | torch.Tensor) -> dict[str, torch.Tensor]:
        """What is kept about a parameter (its name, or itself): copies of "momentum" and the like; of experts and row
        blocks, one row for each."""
        if self._core is None:
            self._build()
        slots = [s for s in self._slots if s.name == param or s.param is param]
        if not slots:
            raise InvalidArgument(f"there is no parameter {param!r}")
        found = [self._core.state(name) for name in slots[0].matrices()]
        rows = {k: [torch.frombuffer(f[k], dtype=torch.float32) for f in found] for k, v in found[0].items() if v}
        return {k: v[0] if len(found) == 1 else torch.stack(v) for k, v in rows.items()}


def _listed(names, params):
    """The names of a group's parameters as a list of texts."""
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str):
            raise InvalidArgument(f"a parameter cannot be called {name!r}: a name is text without NUL")
    count = 1 if isinstance(params, torch.Tensor) else len(params)
    if len(listed) != count:
        raise InvalidArgument(f"a group has {count} parameters and {len(listed)} names; give every parameter a name")
    return listed


def _names(groups):
    """Every parameter's key in the saved state: its name, or its number as in state_dict."""
    found = []
    for group in groups:
        numbers = map(str, range(len(found), len(found) + len(group["params"])))
        given = group.get("names")
        found += numbers if given is None else _listed(given, group["params"])
    return found


def _by_group(groups):
    names = iter(_names(groups))
    return [{name for _, name in zip(group["params"], names)} for group in groups]


def _plain(value):
    """A number that is given as a tensor, which may change in place, as it is now."""
    return value.item() if isinstance(value, torch.Tensor) else value


def _per_slot(core, slots):
    """The library's rows, one per matrix, summed over those of one parameter."""
    rows = iter(core.parameters())
    for slot in slots:
        mine = [next(rows) for _ in slot.matrices()]
        yield slot.name, sum(r[1] for r in mine), sum(r[2] for r in mine)


class Plan:
    """bytes: what the optimizer will hold; rows: (name, shape, bytes of state, operations of a step)."""

    def __init__(self, held: int, rows: list[tuple[str, str, int, float]]) -> None:
        self.bytes, self.rows = held, rows

    def __str__(self):
        width = max(len(row[0]) for row in self.rows)
        lines = [f"{name:{width}}  {shape:>16}  {size / 1e6:10.3f} MB  {flops / 1e9:10.4f} Gflop"
                 for name, shape, size, flops in self.rows]
        return "\n".join(lines + [f"in all {self.bytes / 1e6:.3f} MB, working memory included"])


def _adopt(core, data, whole):
    """A state of these parameters. Not whole: after add_param_group the new ones are not in it.

    Options of groups that differ are no matter here: torch's param_groups bring them along.
    """
    misfits = [_core.lib.MOUSSE_UNKNOWN, _core.lib.MOUSSE_RESHAPED] + [_core.lib.MOUSSE_MISSING] * whole
    for kind, name, text in core.load_matching(data):
        if kind in misfits:
            raise BadFormat(text)
        if whole and kind == _core.lib.MOUSSE_OPTION and name in _tables.object_options():
            warn(text)


_class_names = {"mousse": "Mousse", "muon": "Muon", "soap": "SOAP", "shampoo": "Shampoo", "adamw": "AdamW",
                "lion": "Lion", "sgd": "SGD", "normuon": "NorMuon", "adamuon": "AdaMuon", "polargrad": "PolarGrad",
                "namo": "NAMO", "muon2": "Muon2", "asgo": "ASGO", "fismo": "FISMO", "klshampoo": "KLShampoo",
                "caspr": "CASPR", "pmuon": "PMuon", "soapmuon": "SOAPMuon", "sinksoap": "SinkSOAP",
                "dion2": "Dion2", "sumo": "SUMO", "limuon": "LiMuon", "kfac": "KFAC", "dasgo": "DASGO", "klsoap": "KLSOAP",
                "newtonmuon": "NewtonMuon"}


def _signature(algorithm):
    keyword, usual = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [inspect.Parameter("params", usual)]
    own += [inspect.Parameter(o.name, usual if o.name == "lr" else keyword, default=o.initial)
            for o in _tables.options(algorithm).values()]
    own += [inspect.Parameter("clip_norm", keyword, default=0.0),
            inspect.Parameter("process_group", keyword, default=None)]
    return inspect.Signature(own)


def _make_class(algorithm):
    def __init__(self, params, lr=None, **options):  # lr without its name, as torch.optim takes it
        if lr is not None:
            options["lr"] = lr
        others = {"process_group", *_tables.object_options()}
        _options.checked(algorithm, {k: v for k, v in options.items() if k not in others})
        Optimizer.__init__(self, params, algorithm, **options)

    name = _class_names.get(algorithm, algorithm.capitalize())
    __init__.__qualname__ = f"{name}.__init__"
    return type(name, (Optimizer,), {
        "__init__": __init__, "__doc__": _tables.describe(algorithm), "__module__": __name__,
        "__signature__": _signature(algorithm)})


for _algorithm in _tables.algorithms():
    _class = _make_class(_algorithm)
    globals()[_class.__name__] = _class

if TYPE_CHECKING:  # the same classes for type checkers, which do not see what is made from tables
    class _Algorithm(Optimizer):
        def __init__(self, params: Iterable[Any], lr: float = ..., *, clip_norm: float = 0.0, process_group: Any = None,
                     **options: float | str | bool) -> None: ...

    class Mousse(_Algorithm): ...
    class Muon(_Algorithm): ...
    class NorMuon(_Algorithm): ...
    class AdaMuon(_Algorithm): ...
    class NAMO(_Algorithm): ...
    class PolarGrad(_Algorithm): ...
    class Muon2(_Algorithm): ...
    class SOAP(_Algorithm): ...
    class Shampoo(_Algorithm): ...
    class ASGO(_Algorithm): ...
    class DASGO(_Algorithm): ...
    class CASPR(_Algorithm): ...
    class FISMO(_Algorithm): ...
    class KLShampoo(_Algorithm): ...
    class KLSOAP(_Algorithm): ...
    class PMuon(_Algorithm): ...
    class SOAPMuon(_Algorithm): ...
    class SinkSOAP(_Algorithm): ...
    class Dion2(_Algorithm): ...
    class SUMO(_Algorithm): ...
    class LiMuon(_Algorithm): ...
    class KFAC(_Algorithm): ...
    class NewtonMuon(_Algorithm): ...
    class Spectral(_Algorithm): ...
    class AdamW(_Algorithm): ...
    class Lion(_Algorithm): ...
    class SGD(_Algorithm): ...

__all__ = ["Optimizer", "Plan", "groups"] + [_class_names.get(a, a.capitalize()) for a in _tables.algorithms()]
