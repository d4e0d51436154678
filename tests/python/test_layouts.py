"""Tensors as they come: transposed, sliced, of 16 bits, of more than two dimensions, and refused ones."""
import unittest

import mousse
import mousse.torch
import torch


def steps(weight, gradients, algorithm="mousse", **options):
    optimizer = mousse.torch.Optimizer([dict({"params": [weight], "algorithm": algorithm, "lr": 0.01}, **options)])
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
    return weight.detach()


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Layouts(unittest.TestCase):
    def setUp(self):
        self.start, self.gradients = numbers(12, 20), [numbers(12, 20, seed=s) for s in range(2, 8)]
        self.expected = steps(torch.nn.Parameter(self.start.clone()), self.gradients)

    def test_stored_by_columns(self):
        weight = torch.nn.Parameter(self.start.t().contiguous().t())
        self.assertFalse(weight.is_contiguous())
        place = weight.data_ptr()
        self.assertTrue(torch.equal(steps(weight, self.gradients), self.expected))
        self.assertEqual(place, weight.data_ptr())

    def test_a_slice_of_something_larger(self):
        whole = torch.zeros(12, 50)
        whole[:, 7:27] = self.start
        weight = torch.nn.Parameter(whole[:, 7:27])
        self.assertTrue(torch.equal(steps(weight, self.gradients), self.expected))
        self.assertTrue(torch.equal(whole[:, 7:27], self.expected))
        self.assertEqual(float(whole[:, :7].abs().sum() + whole[:, 27:].abs().sum()), 0)

    def test_gradients_in_another_layout(self):
        weight = torch.nn.Parameter(self.start.clone())
        by_columns = [g.t().contiguous().t() for g in self.gradients]
        self.assertTrue(torch.equal(steps(weight, by_columns), self.expected))
        expanded = [torch.ones(1, 1).expand(12, 20)] * 2
        a = steps(torch.nn.Parameter(self.start.clone()), expanded, "adamw")
        b = steps(torch.nn.Parameter(self.start.clone()), [torch.ones(12, 20)] * 2, "adamw")
        self.assertTrue(torch.equal(a, b))

    def test_inputs_by_outputs(self):
        """GPT-2's Conv1D: declared transposed, the step is that of the transposed matrix."""
        weight = torch.nn.Parameter(self.start.t().contiguous())
        moved = steps(weight, [g.t().contiguous() for g in self.gradients], transposed=True)
        self.assertTrue(torch.equal(moved.t(), self.expected))
        undeclared = steps(torch.nn.Parameter(self.start.t().contiguous()), [g.t() for g in self.gradients])
        self.assertFalse(torch.allclose(undeclared.t(), self.expected))

    def test_convolutions_are_outputs_by_rest(self):
        gradients = [g.reshape(12, 5, 2, 2) for g in self.gradients]
        weight = torch.nn.Parameter(self.start.reshape(12, 5, 2, 2).clone())
        self.assertTrue(torch.equal(steps(weight, gradients).reshape(12, 20), self.expected))
        last = torch.nn.Parameter(self.start.reshape(12, 5, 2, 2).contiguous(memory_format=torch.channels_last))
        self.assertTrue(torch.equal(steps(last, gradients).reshape(12, 20), self.expected))

    def test_transposed_convolutions_are_rest_by_inputs(self):
        """As groups() takes them: the step is that of a Linear from the inputs to all that they write to."""
        layer = torch.nn.ConvTranspose2d(20, 3, 2, bias=False)
        layer.weight.data = self.start.t().reshape(20, 3, 2, 2).clone()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(torch.nn.Sequential(layer), lr=0.01))
        for gradient in self.gradients:
            layer.weight.grad = gradient.t().reshape(20, 3, 2, 2).clone()
            optimizer.step()
        self.assertTrue(torch.equal(layer.weight.detach().reshape(20, 12).t(), self.expected))
        for shape, more in (((4,), {}), ((3, 4, 5), {"experts": True})):
            with self.assertRaisesRegex(ValueError, "can be transposed"):
                steps(torch.nn.Parameter(torch.ones(shape)), [torch.ones(shape)], "sgd", transposed=True, **more)

    def test_experts_are_matrices_of_their_own(self):
        starts, gradients = numbers(3, 12, 20), [numbers(3, 12, 20, seed=s) for s in (5, 6)]
        together = steps(torch.nn.Parameter(starts.clone()), gradients, experts=True)
        for e in range(3):
            alone = steps(torch.nn.Parameter(starts[e].clone()), [g[e].clone() for g in gradients])
            self.assertTrue(torch.equal(together[e], alone))

    def test_row_blocks_are_matrices_of_their_own(self):
        """Also stored as inputs x outputs, and of experts."""
        starts, gradients = numbers(3, 12, 20), [numbers(3, 12, 20, seed=s) for s in (5, 6)]
        alone = torch.stack([steps(torch.nn.Parameter(starts[b].clone()), [g[b].clone() for g in gradients])
                             for b in range(3)]).reshape(36, 20)
        start, fused = starts.reshape(36, 20), [g.reshape(36, 20) for g in gradients]
        self.assertTrue(torch.equal(steps(torch.nn.Parameter(start.clone()), fused, row_blocks=3), alone))
        turned = steps(torch.nn.Parameter(start.t().contiguous()), [g.t().contiguous() for g in fused], transposed=True,
                       row_blocks=3)
        self.assertTrue(torch.equal(turned.t(), alone))
        experts = steps(torch.nn.Parameter(torch.stack([start, start])), [torch.stack([g, g]) for g in fused],
                        experts=True, row_blocks=3)
        self.assertTrue(torch.equal(experts, torch.stack([alone, alone])))
        for blocks in (5, 0, -3, 1.5):
            with self.assertRaisesRegex(ValueError, "36 rows, which cannot be"):
                steps(torch.nn.Parameter(start.clone()), fused, row_blocks=blocks)

    def test_arrays_and_plan_of_row_blocks(self):
        weight, other = torch.nn.Parameter(numbers(36, 20)), torch.nn.Parameter(numbers(4, 5))
        optimizer = mousse.torch.Optimizer([{"params": [weight], "algorithm": "muon", "row_blocks": 3},
                                            {"params": [other], "algorithm": "muon"}])
        weight.grad, other.grad = numbers(36, 20, seed=5), numbers(4, 5, seed=6)
        optimizer.step()
        self.assertTrue(torch.equal(optimizer.arrays(weight)["momentum"], weight.grad.reshape(3, 240)))
        self.assertEqual([(name, size) for name, _, size, _ in optimizer.plan().rows], [("0", 4 * 720), ("1", 4 * 20)])

    def test_arrays_of_experts(self):
        weight = torch.nn.Parameter(numbers(3, 12, 20))
        optimizer = mousse.torch.Optimizer([{"params": [weight], "algorithm": "muon", "experts": True}])
        weight.grad = numbers(3, 12, 20, seed=5)
        optimizer.step()
        self.assertTrue(torch.equal(optimizer.arrays(weight)["momentum"], weight.grad.reshape(3, 240)))

    def test_gradients_that_are_negated_views(self):
        for start in (self.start.clone(), self.start.t().contiguous().t()):
            negated = [torch._neg_view(-g) for g in self.gradients]
            self.assertTrue(negated[0].is_neg())
            self.assertTrue(torch.equal(steps(torch.nn.Parameter(start), negated), self.expected))

    def test_16_bits(self):
        for dtype in (torch.bfloat16, torch.float16):
            weight = torch.nn.Parameter(self.start.to(dtype))
            gradients = [g.to(dtype) for g in self.gradients]
            rounded = steps(torch.nn.Parameter(self.start.to(dtype).float()), [g.float() for g in gradients])
            self.assertTrue(torch.equal(steps(weight, gradients), rounded.to(dtype)), dtype)

    def test_small_steps_are_not_lost_in_16_bits(self):
        weight = torch.nn.Parameter(torch.ones(4, 4, dtype=torch.bfloat16))
        gradients = [torch.ones(4, 4, dtype=torch.bfloat16)] * 200
        moved = steps(weight, gradients, "sgd", lr=1e-4, mu=0, weight_decay=0)
        self.assertAlmostEqual(float(moved[0, 0]), 0.98, delta=0.004)

    def test_refused(self):
        def refused(weight, gradient, sentence):
            with self.assertRaisesRegex(ValueError, sentence):
                steps(torch.nn.Parameter(weight), [gradient])

        refused(torch.ones(4, 4, dtype=torch.float64), torch.ones(4, 4, dtype=torch.float64), "float64.*float32")
        refused(torch.ones(4, 4, dtype=torch.complex64), torch.ones(4, 4, dtype=torch.complex64), "complex64")
        refused(torch.ones(0), torch.ones(0), "no elements")
        refused(torch.ones(0, 4), torch.ones(0, 4), "0x4.*no elements")
        refused(torch.ones(4, 4, device="meta"), torch.ones(4, 4, device="meta"), "on meta")
        table = torch.nn.Embedding(6, 4, sparse=True)
        table(torch.tensor([1])).sum().backward()
        with self.assertRaisesRegex(ValueError, "sparse"):
            mousse.torch.AdamW(table.parameters()).step()
        for weight, other in ((torch.ones(2, 2), torch.ones(512, 512)), (torch.ones(8, 8).t(), torch.ones(4, 8).t())):
            weight = torch.nn.Parameter(weight)
            weight.grad = torch.ones(weight.shape)
            weight.data = other
            with self.assertRaisesRegex(ValueError, "the gradient of 0 is [28]x[28], its value"):
                mousse.torch.SGD([weight]).step()
        weight = torch.nn.Parameter(torch.ones(64, 64))
        optimizer = mousse.torch.SGD([weight])
        for side in (64, 8):
            weight.grad = torch.ones(64, 64)
            weight.grad.data = torch.ones(side, side)
            if side == 64:
                optimizer.step()
        with self.assertRaisesRegex(ValueError, "the gradient of 0 is 8x8, its value 64x64"):
            optimizer.step()
        with self.assertRaisesRegex(ValueError, "experts need"):
            steps(torch.nn.Parameter(self.start.clone()), self.gradients, experts=True)

    def test_slices_with_common_elements_are_refused(self):
        whole = torch.zeros(6, 6)

        def step(*pieces):
            params = [torch.nn.Parameter(piece) for piece in pieces]
            for param in params:
                param.grad = torch.ones(param.shape)
            mousse.torch.SGD(params, lr=1).step()

        for pieces in ((whole[:4, :4], whole[2:, 2:]), (whole, whole[1:3, 1:3]), (whole[:4, :4], whole[3])):
            with self.assertRaisesRegex(mousse.InvalidArgument, "0 and 1 share memory|1 and 0 share memory"):
                step(*pieces)
        with self.assertRaisesRegex(mousse.InvalidArgument, "0 has elements that share memory"):
            step(torch.zeros(1, 6).expand(4, 6))
        self.assertEqual(whole.abs().max(), 0)
        step(whole[:, :3], whole[:, 3:])  # neighbours in every row, but nothing in common
        step(whole[::2], whole[1::2])
        self.assertTrue(torch.equal(whole, torch.full((6, 6), -2.0)))

    def test_tied_values_are_refused(self):
        """Also where the library gets copies of them, of which the last would win."""
        whole = torch.ones(4, 8)
        for one, other in ((whole, whole), (whole[:, :4], whole[:, :4]), (whole, whole[:, :4]), (whole[:, 1:5], whole[:, 1:3])):
            pair = [torch.nn.Parameter(one), torch.nn.Parameter(other)]
            for weight in pair:
                weight.grad = torch.ones(weight.shape)
            with self.assertRaisesRegex(mousse.InvalidArgument, "register a tied tensor once"):
                mousse.torch.SGD(pair).step()
            self.assertEqual(float(whole.sum()), 32)
        apart = [torch.nn.Parameter(whole[:, :4]), torch.nn.Parameter(whole[:, 4:])]
        for weight in apart:
            weight.grad = torch.ones(4, 4)
        mousse.torch.SGD(apart, 0.5, mu=0, weight_decay=0).step()
        self.assertTrue(torch.equal(whole, torch.full((4, 8), 0.5)))

    def test_memory_that_moves(self):
        weight = torch.nn.Parameter(self.start.clone())
        optimizer = mousse.torch.Mousse([weight], lr=0.01)
        for gradient in self.gradients:
            weight.data = weight.data.clone()
            weight.grad = gradient.clone()
            optimizer.step()
        self.assertTrue(torch.equal(weight.detach(), self.expected))

    def test_type_and_layout_that_change(self):
        """`model.half()`, `model.to(memory_format=...)` and the like replace what a parameter holds."""
        weight = torch.nn.Parameter(self.start.clone())
        optimizer = mousse.torch.Mousse([weight], lr=0.01)
        for step, gradient in enumerate(self.gradients):
            if step == 3:  # by columns, as the next one; then as before
                weight.data = weight.data.t().contiguous().t()
            if step == 5:
                weight.data = weight.data.contiguous()
            weight.grad = gradient.clone()
            optimizer.step()
        self.assertTrue(torch.equal(weight.detach(), self.expected))
        weight.data, weight.grad = weight.data.bfloat16(), None
        weight.grad = self.gradients[0].bfloat16()
        before = weight.detach().clone()
        optimizer.step()
        self.assertEqual(weight.dtype, torch.bfloat16)
        self.assertLess(float((weight - before).abs().max()), 0.1)
        self.assertFalse(torch.equal(weight.detach(), before))
        weight.data, weight.grad = torch.zeros(4, 4), torch.ones(4, 4)
        with self.assertRaisesRegex(ValueError, "4 x 4|shape|rows"):
            optimizer.step()

    def test_state_follows_the_elements(self):
        """Element-wise algorithms take a parameter as it lies; their moments must move with it."""
        for algorithm in ("adamw", "lion", "sgd", "mousse"):
            expected = steps(torch.nn.Parameter(self.start.clone()), self.gradients, algorithm)
            weight = torch.nn.Parameter(self.start.clone())
            optimizer = mousse.torch.Optimizer([weight], algorithm, lr=0.01)
            for step, gradient in enumerate(self.gradients):
                if step == 2:
                    weight.data = weight.data.t().contiguous().t()
                if step == 4:  # a copy by rows takes over from the one by columns
                    weight, saved = torch.nn.Parameter(weight.detach().contiguous()), optimizer.state_dict()
                    optimizer = mousse.torch.Optimizer([weight], algorithm, lr=0.01)
                    optimizer.load_state_dict(saved)
                weight.grad = gradient.clone()
                optimizer.step()
            self.assertTrue(torch.equal(weight.detach(), expected), algorithm)


if __name__ == "__main__":
    unittest.main()
