"""What kfac, newtonmuon and limuon take beside the gradient."""
import copy
import unittest

import mousse
import mousse.numpy
import mousse.torch
import numpy
import torch


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def parameter(*shape):
    weight = torch.nn.Parameter(numbers(*shape))
    weight.grad = numbers(*shape, seed=2)
    return weight


def shapes_of(algorithm, rows, cols):
    return {name: row.shape(rows, cols) for name, row in mousse.inputs(algorithm).items()}


class Inputs(unittest.TestCase):
    def test_every_algorithm_can_step(self):
        for algorithm in mousse.algorithms():
            weight = parameter(4, 6)
            array = weight.detach().numpy().copy()
            optimizer = mousse.torch.Optimizer([weight], algorithm)
            other = mousse.numpy.Optimizer({"0": array}, algorithm)
            for name, (rows, cols) in shapes_of(algorithm, 4, 6).items():
                given = torch.eye(rows, cols)
                with self.assertRaisesRegex(mousse.InvalidArgument, f"needs the input '{name}'"):
                    optimizer.step()
                optimizer.bind_input(weight, name, given)
                other.bind_input("0", name, given.numpy())
                self.assertIn(f"'{name}'", mousse.describe(algorithm))
            before = weight.detach().clone()
            for _ in range(2):
                optimizer.step()
                other.step({"0": weight.grad.numpy()})
            self.assertFalse(torch.equal(weight.detach(), before), algorithm)
            self.assertTrue(numpy.array_equal(array, weight.detach().numpy()), algorithm)

    def test_newtonmuon_is_muon_where_inputs_are_white(self):
        weight, other, white = parameter(4, 6), parameter(4, 6), torch.eye(6)
        same = {"lr": 0.1, "mu": 0, "nesterov": False, "newton_schulz": "exact", "shape": "none", "weight_decay": 0}
        optimizer = mousse.torch.NewtonMuon([weight], **same, beta=0, refresh_every=1)
        optimizer.bind_input("0", "input_covariance", white)
        plain = mousse.torch.Muon([other], **same)
        for one in (optimizer, plain):
            one.step()
        self.assertLess(float((weight - other).norm()), 1e-5)
        white.mul_(torch.arange(1.0, 7.0).square().flip(0))  # in place: the next step reads it
        for one in (optimizer, plain):
            one.step()
        self.assertGreater(float((weight - other).norm()), 1e-2)

    def test_blocks_and_experts(self):
        """One array for each of their matrices."""
        fused, alone = parameter(6, 4), [torch.nn.Parameter(numbers(6, 4)[2 * b:2 * b + 2]) for b in range(3)]
        given = torch.stack([torch.diag(torch.arange(1.0, 5.0) ** b) for b in range(3)])
        optimizer = mousse.torch.NewtonMuon([{"params": [fused], "row_blocks": 3, "names": ["qkv"]}])
        optimizer.bind_input("qkv", "input_covariance", given)
        optimizer.step()
        for block, weight in enumerate(alone):
            weight.grad = fused.grad[2 * block:2 * block + 2]
            single = mousse.torch.NewtonMuon([weight])
            single.bind_input(weight, "input_covariance", given[block])
            single.step()
            self.assertTrue(torch.equal(fused.detach()[2 * block:2 * block + 2], weight.detach()))

    def test_copies_have_their_own(self):
        pair = [parameter(4, 6)]
        optimizer = mousse.torch.NewtonMuon(pair)
        optimizer.bind_input(pair[0], "input_covariance", torch.eye(6))
        optimizer.step()
        (other,), twin = copy.deepcopy((pair, optimizer))
        other.grad = pair[0].grad.clone()
        optimizer.bind_input(pair[0], "input_covariance", None)
        with self.assertRaisesRegex(mousse.InvalidArgument, "needs the input"):
            optimizer.step()
        twin.step()
        self.assertFalse(torch.equal(other.detach(), pair[0].detach()))

    def test_refused(self):
        weight, array = parameter(4, 6), numpy.ones((4, 6), numpy.float32)
        optimizer, other = mousse.torch.NewtonMuon([weight]), mousse.numpy.Optimizer({"w": array}, "newtonmuon")
        for one, name in ((optimizer, weight), (other, "w")):
            with self.assertRaisesRegex(mousse.UnknownName, "takes no input 'covariance'; it takes input_covariance"):
                one.bind_input(name, "covariance", None)
            with self.assertRaisesRegex(mousse.InvalidArgument, "no parameter 'x'"):
                one.bind_input("x", "input_covariance", None)
        with self.assertRaisesRegex(mousse.UnknownName, "it takes nothing but gradients"):
            mousse.torch.Muon([weight]).bind_input(weight, "input_covariance", torch.eye(6))
        for bad in (torch.eye(4), torch.eye(6).double(), torch.eye(6).bfloat16(), torch.eye(12)[::2, ::2]):
            optimizer.bind_input(weight, "input_covariance", bad)
            with self.assertRaisesRegex(mousse.InvalidArgument, "input_covariance of 0"):
                optimizer.step()
        optimizer.bind_input(weight, "input_covariance", torch.full((6, 6), float("nan")))
        with self.assertRaisesRegex(mousse.NotFinite, "input_covariance"):
            optimizer.step()
        with self.assertRaisesRegex(mousse.InvalidArgument, r"\(4, 4\); it must be \(6, 6\)"):
            other.bind_input("w", "input_covariance", numpy.eye(4, dtype=numpy.float32))
        with self.assertRaisesRegex(mousse.InvalidArgument, "contiguous numpy array of float32"):
            other.bind_input("w", "input_covariance", numpy.eye(6))


if __name__ == "__main__":
    unittest.main()
