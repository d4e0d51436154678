"""Two processes of torch.distributed (gloo): the state is divided, the weights are those of one."""
import datetime
import pathlib
import tempfile
import unittest
from unittest import mock

import mousse.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from problem import loss_of, weights


def model():
    torch.manual_seed(1)
    layers = [torch.nn.Linear(48, 48, bias=False) for _ in range(6)]
    return torch.nn.Sequential(torch.nn.Embedding(23, 48), *layers, torch.nn.Linear(48, 23))


def steps(net, optimizer, first, last):
    for step in range(first, last):
        optimizer.zero_grad()
        loss_of(net, step).backward()
        optimizer.step()


def fails_with(reason):
    """What a step raises when torch.distributed raises `reason`."""
    net = model()
    try:
        with mock.patch.object(dist, "all_reduce", side_effect=reason):
            steps(net, mousse.torch.Optimizer(mousse.torch.groups(net), process_group=True), 0, 1)
    except BaseException as raised:
        return type(raised).__name__, type(raised.__cause__).__name__
    return "nothing", "nothing"


def meet(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2,
                            timeout=datetime.timedelta(seconds=60))


def changes_alone(rank, folder):
    """Rank 1 alone has other threads, then a matrix in another layout, which both refuse until it is as before."""
    meet(rank, folder)
    net = model()
    optimizer = mousse.torch.Optimizer(mousse.torch.groups(net), process_group=True)
    steps(net, optimizer, 0, 3)
    torch.set_num_threads(1 + rank)
    steps(net, optimizer, 3, 6)
    matrix = net[2].weight
    if rank == 1:
        matrix.data, matrix.grad = matrix.data.t().contiguous().t(), None
    try:
        steps(net, optimizer, 6, 7)
        refused = ""
    except mousse.InvalidArgument as reason:
        refused = str(reason)
    matrix.data, matrix.grad = matrix.data.contiguous(), None
    steps(net, optimizer, 6, 9)
    torch.save({"weights": weights(net), "refused": refused}, f"{folder}/rank{rank}")
    dist.destroy_process_group()


def work(rank, folder):
    meet(rank, folder)
    failures = [fails_with(TypeError("odd")), fails_with(KeyboardInterrupt())]
    net = model()
    optimizer = mousse.torch.Optimizer(mousse.torch.groups(net), process_group=True)
    steps(net, optimizer, 0, 6)
    state = optimizer.state_dict()
    again = mousse.torch.Optimizer(mousse.torch.groups(net), process_group=True)
    again.load_state_dict(state)
    steps(net, again, 6, 12)
    share = again._core.rank_state_bytes(rank)
    evaluated = again.evaluation_weights()
    assert all(torch.equal(evaluated[param], param) for param in net.parameters())
    torch.save({"weights": weights(net), "state": state["mousse"], "share": share, "failures": failures},
               f"{folder}/rank{rank}")
    dist.destroy_process_group()


def both(function):
    """What two processes of it have saved."""
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(function, (folder,), nprocs=2)
        return [torch.load(pathlib.Path(folder) / f"rank{r}") for r in (0, 1)]


class Ranks(unittest.TestCase):
    def test_what_changes_on_one_rank_alone(self):
        ranks = both(changes_alone)
        net = model()
        steps(net, mousse.torch.Optimizer(mousse.torch.groups(net)), 0, 9)
        for rank in ranks:
            self.assertIn("2.weight", rank["refused"])
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(rank["weights"], weights(net))))

    def test_two_ranks(self):
        ranks = both(work)
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        steps(net, optimizer, 0, 12)
        alone = optimizer._core.rank_state_bytes(0)
        for rank in ranks:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(rank["weights"], weights(net))))
            self.assertLessEqual(rank["share"], 0.55 * alone)
            self.assertEqual(rank["failures"], [("CommunicationFailed", "TypeError"), ("KeyboardInterrupt", "NoneType")])
        self.assertTrue(torch.equal(ranks[0]["state"], ranks[1]["state"]))


if __name__ == "__main__":
    unittest.main()
