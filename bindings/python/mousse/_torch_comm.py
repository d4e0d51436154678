"""A mousse_comm over torch.distributed: the state is divided among the processes of torchrun."""
from __future__ import annotations

import torch
import torch.distributed as dist

from ._errors import CommunicationFailed
from ._library import ffi


def _tensor(data, count):
    return torch.frombuffer(ffi.buffer(data, 4 * count), dtype=torch.float32)


class Comm:
    """group: a process group of CPU tensors (gloo); None: all processes."""

    def __init__(self, group=None):
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.raised = None
        # error=1: nothing that Python raises may look like a sum that was taken.
        self._sum = ffi.callback("int(void *, float *, size_t)", self._sum_over_ranks, error=1)
        self._broadcast = ffi.callback("int(void *, float *, size_t, int)", self._from_root, error=1)
        self.pointer = ffi.new("mousse_comm *", {"rank": self.rank, "size": self.size, "sum": self._sum,
                                                 "broadcast": self._broadcast})

    def _try(self, call):
        try:
            call()
        except BaseException as reason:
            self.raised = reason  # the library reports it as a failed communication
            return 1
        return 0

    def _sum_over_ranks(self, context, data, count):
        return self._try(lambda: dist.all_reduce(_tensor(data, count), group=self.group)) if count else 0

    def _from_root(self, context, data, count, root):
        source = root if self.group is None else dist.get_global_rank(self.group, root)
        return self._try(lambda: dist.broadcast(_tensor(data, count), source, group=self.group)) if count else 0

    def any(self, flag: bool) -> bool:
        """Whether it is set on one of the ranks."""
        count = torch.tensor([float(flag)])
        try:
            dist.all_reduce(count, group=self.group)
        except Exception as reason:
            raise CommunicationFailed("the processes could not agree before a step") from reason
        return count.item() > 0

    def share(self, data: bytes) -> bytes:
        """Rank 0's bytes on every rank."""
        size = torch.tensor([len(data)], dtype=torch.int64)
        source = 0 if self.group is None else dist.get_global_rank(self.group, 0)
        dist.broadcast(size, source, group=self.group)
        buffer = torch.frombuffer(bytearray(data), dtype=torch.uint8) if self.rank == 0 else torch.empty(
            int(size), dtype=torch.uint8)
        dist.broadcast(buffer, source, group=self.group)
        return bytes(buffer.numpy())
