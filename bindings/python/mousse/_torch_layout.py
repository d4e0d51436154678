"""Where a torch parameter lies in memory, and its gradients, as the library is told.

    parameter            rows x cols
    vector, scalar       1 x n
    (m, n)               m x n: outputs x inputs, as in torch.nn.Linear
    (m, n), transposed   n x m: stored (inputs, outputs), as in GPT-2's Conv1D
    (m, ...)             m x rest: convolutions
    (m, ...), transposed rest x m: transposed convolutions, stored (inputs, outputs, ...)
    (e, m, ...), experts e matrices of m x rest
    with row_blocks b    b matrices of m/b x n on top of each other, as fused queries, keys and values

A tensor that lies row by row, or column by column, is used where it is. Any other (a slice, a
convolution in channels-last order) is copied before a step and back after it.
"""
from __future__ import annotations

import torch

from . import _core, _tables
from ._errors import InvalidArgument

_strided = torch.strided
_types = {torch.float32: _core.FLOAT32, torch.bfloat16: _core.BFLOAT16, torch.float16: _core.FLOAT16}


def refuse_unusable(name: str, tensor: torch.Tensor, what: str) -> None:
    """Raises for what the library cannot take, instead of doing something else in silence."""
    if tensor.layout != torch.strided:
        raise InvalidArgument(f"{what} of {name} is {tensor.layout}; sparse tensors are not supported "
                              "(torch.nn.Embedding: sparse=False)")
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"{what} of {name} is on {tensor.device}; this optimizer runs on CPU tensors: "
                              "move the model with .cpu()")
    if tensor.dtype == torch.float64:
        raise InvalidArgument(f"{what} of {name} is float64; the library computes in float32: use .float()")
    if tensor.dtype not in _types:
        raise InvalidArgument(f"{what} of {name} is {tensor.dtype}; float32, bfloat16 and float16 are supported")


def refuse_empty(name: str, tensor: torch.Tensor) -> None:
    if tensor.numel() == 0:
        raise InvalidArgument(f"{name} ({'x'.join(map(str, tensor.shape))}) has no elements: leave it out of params")


class Slot:
    """One parameter: its place among the library's tensors and how its memory is reached."""

    def __init__(self, name: str, param: torch.nn.Parameter, transposed=False, experts=False, row_blocks=1):
        refuse_unusable(name, param, "the value")
        refuse_empty(name, param)
        self.name, self.param = name, param
        self.shape, self.dtype = param.shape, param.dtype
        self.plain = param.is_contiguous()
        self.by_columns = not self.plain and param.dim() == 2 and param.t().is_contiguous()
        self.staged = self._nothing = self._nothing_of = None
        if not self.plain and not self.by_columns:
            self.staged = torch.empty(param.shape, dtype=param.dtype)
        self._describe(transposed, experts, row_blocks)

    def _describe(self, transposed, experts, row_blocks):
        shape = self.param.shape
        if transposed and (len(shape) < 2 or experts):
            raise InvalidArgument(f"{self.name} has {len(shape)} dimensions{' of experts' * bool(experts)}; only matrices and "
                                  "convolutions can be transposed")
        if experts and len(shape) < 3:
            raise InvalidArgument(f"{self.name} has {len(shape)} dimensions; experts need (experts, outputs, inputs)")
        self.count, self.inputs_first = shape[0] if experts else 1, transposed
        if len(shape) < 2:
            self.rows, self.cols = 1, self.param.numel()
        else:
            matrix = shape[1:] if experts else shape
            self.rows, self.cols = matrix[0], self.param.numel() // (self.count * matrix[0])
        self.transposed = transposed != self.by_columns
        if transposed:
            self.rows, self.cols = self.cols, self.rows
        if not isinstance(row_blocks, int) or row_blocks < 1 or self.rows % row_blocks != 0:
            raise InvalidArgument(f"{self.name} has {self.rows} rows, which cannot be {row_blocks} row_blocks")
        self.row_blocks = row_blocks

    def tensor(self) -> _core.Tensor:
        return _core.Tensor(self.name, self.rows, self.cols, self.value_address(), count=self.count,
                            row_blocks=self.row_blocks, transposed=self.transposed, type=_types[self.param.dtype])

    def value_address(self) -> int:
        return (self.param if self.staged is None else self.staged).data_ptr()

    def is_as_described(self) -> bool:
        """Whether it still has the type and the layout that the library was told (`param.data = ...`)."""
        param = self.param
        if param.dtype is not self.dtype or param.shape != self.shape or not param.is_cpu:
            return False
        if self.plain:
            return param.layout is _strided and param.is_contiguous()
        return self.staged is not None or param.t().is_contiguous()

    def usual_grad(self) -> torch.Tensor | None:
        """The gradient if value and gradient can be used where they are: nearly always, and asked in every step, so
        what is_as_described asks is here once more, in one call."""
        param, dtype = self.param, self.dtype
        grad = param.grad
        if (self.plain and grad is not None and param.dtype is dtype and param.is_contiguous()
                and param.shape == self.shape and param.is_cpu and grad.shape == self.shape and grad.dtype is dtype
                and grad.layout is _strided and grad.is_contiguous() and grad.is_cpu and not grad.is_neg()):
            return grad
        return None

    def grad_like_value(self) -> torch.Tensor | None:
        """The gradient in the value's layout: itself, or a copy when it lies otherwise."""
        grad = self.param.grad
        if grad is None:
            return None
        if grad.layout != torch.strided or grad.dtype != self.dtype or not grad.is_cpu:
            refuse_unusable(self.name, grad, "the gradient")
            grad = grad.to(self.dtype)
        if grad.shape != self.shape:  # torch looks when a gradient is given, not when value or gradient get other .data
            raise InvalidArgument(f"the gradient of {self.name} is {'x'.join(map(str, grad.shape)) or '1'}, its value "
                                  f"{'x'.join(map(str, self.shape)) or '1'}")
        grad = grad.resolve_neg()  # a view whose numbers are negated when they are read
        if self.by_columns:
            return grad if grad.t().is_contiguous() else grad.t().contiguous().t()
        return grad if grad.is_contiguous() else grad.contiguous()

    def matrices(self) -> list[str]:
        """The names of the library's parameters in it."""
        experts = [self.name] if self.count == 1 else [f"{self.name}[{i}]" for i in range(self.count)]
        return experts if self.row_blocks == 1 else [f"{e}[{b}]" for e in experts for b in range(self.row_blocks)]

    def from_rows(self, numbers: list[torch.Tensor]) -> torch.Tensor:
        """In the parameter's shape what the library gives row by row for each of its matrices."""
        matrices = torch.cat(numbers).view(self.count, self.rows, self.cols)
        return (matrices.transpose(1, 2) if self.inputs_first else matrices).reshape(self.shape)

    def input_addresses(self, row: _tables.Input, tensor: torch.Tensor | None) -> list[tuple[str, int]]:
        """Where each matrix, by name, finds what its algorithm takes beside the gradient; 0: nowhere."""
        matrices = self.matrices()
        if tensor is None:
            return [(name, 0) for name in matrices]
        rows, cols = row.shape(self.rows // self.row_blocks, self.cols)
        wanted = (rows, cols) if len(matrices) == 1 else (len(matrices), rows, cols)
        refuse_unusable(self.name, tensor, f"the {row.name}")
        if tensor.dtype != torch.float32 or not tensor.is_contiguous() or tensor.is_neg() or tensor.shape != wanted:
            raise InvalidArgument(f"the {row.name} of {self.name} is {'x'.join(map(str, tensor.shape))} of {tensor.dtype}; it "
                                  f"must be {'x'.join(map(str, wanted))} of torch.float32, and contiguous")
        return [(name, tensor.data_ptr() + 4 * rows * cols * i) for i, name in enumerate(matrices)]

    def note_change(self) -> None:
        """Tells autograd that the value has changed, as writing it with torch would: a graph that still needs the old
        one is then refused. Views share their tensor's count of changes; nothing of it is cheapest to write."""
        address = self.param.data_ptr()
        if self._nothing_of != address:
            self._nothing_of, self._nothing = address, self.param.detach().unsqueeze(0)[:0]
        self._nothing.zero_()

    def fetch(self) -> None:
        if self.staged is not None:
            self.staged.copy_(self.param.detach())

    def deliver(self) -> None:
        if self.staged is not None:
            self.param.detach().copy_(self.staged)


def _extent(param):
    """The first byte of a parameter's memory, and the end of its last element."""
    last = sum((size - 1) * stride for size, stride in zip(param.shape, param.stride()))
    return param.data_ptr(), param.data_ptr() + (last + 1) * param.element_size()


def _addresses(param):
    """Where each of its elements lies."""
    places = torch.tensor([param.data_ptr()])
    for size, stride in zip(param.shape, param.stride()):
        places = (places.unsqueeze(-1) + torch.arange(size) * (stride * param.element_size())).flatten()
    return places


def _share_elements(one, other):
    both = torch.cat([_addresses(one), _addresses(other)])
    return both.unique().numel() < both.numel()


def refuse_shared_copies(slots: list[Slot]) -> None:
    """The library knows where values lie except of those that are copied for it: steps of elements that two of them have,
    or that one has twice, would be lost."""
    placed = sorted((_extent(slot.param) + (number, slot) for number, slot in enumerate(slots)), key=lambda row: row[:3])
    for at, (_, end, _, slot) in enumerate(placed):
        if any(stride == 0 and size > 1 for size, stride in zip(slot.shape, slot.param.stride())):
            raise InvalidArgument(f"{slot.name} has elements that share memory (an expanded tensor): use .contiguous()")
        for begin, _, _, other in placed[at + 1:]:
            if begin >= end:
                break
            if (slot.staged is not None or other.staged is not None) and _share_elements(slot.param, other.param):
                raise InvalidArgument(f"the values of {slot.name} and {other.name} share memory; register a tied tensor once")
