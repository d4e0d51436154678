"""Options of the optimizer as a whole, and the weights that averages and wrappers keep for evaluation."""
import copy
import unittest

import mousse
import mousse.numpy
import mousse.torch
import numpy
import torch
from problem import model, same, train, weights

average = {"average": True, "average_from": 2, "average_horizon": 4.0}


def averaged(history):
    """By the formula: up to step 2 the weights themselves."""
    mean = [w.clone() for w in history[0]]
    for step, now in enumerate(history, 1):
        for m, w in zip(mean, now):
            m += (w - m) if step <= 2 else (w - m) / 4
    return mean


class Evaluation(unittest.TestCase):
    def assert_close(self, found, expected):
        for one, other in zip(found, expected, strict=True):
            self.assertEqual(one.shape, other.shape)
            self.assertLess(float((one - other).abs().max()), 1e-6)

    def test_the_average(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net), lr=0.05, **average)
        self.assertTrue(all(torch.equal(p, w) for p, w in optimizer.evaluation_weights().items()))
        history = [train(net, optimizer, step, step + 1) for step in range(6)]
        expected, own = averaged(history), history[-1]
        with optimizer.evaluating():
            self.assert_close(weights(net), expected)
            for call in (optimizer.step, optimizer.evaluation_weights):
                with self.assertRaisesRegex(mousse.InvalidArgument, r"evaluating\(\)"):
                    call()
        self.assertTrue(same(weights(net), own))
        with self.assertRaises(ZeroDivisionError), optimizer.evaluating():
            1 / 0
        straight = model()
        train(straight, mousse.torch.Optimizer(mousse.torch.groups(straight), lr=0.05, **average), 0, 8)
        self.assertTrue(same(train(net, optimizer, 6, 8), weights(straight)))  # evaluating left no trace

    def test_every_layout(self):
        start = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
        whole, layouts = torch.zeros(6, 20), []
        whole[:, 3:11] = start
        for value, more in ((start.clone(), {}), (start.t().contiguous().t(), {}), (whole[:, 3:11], {}),
                            (start.t().contiguous(), {"transposed": True}), (start.clone(), {"row_blocks": 3}),
                            (start.reshape(2, 3, 8).clone(), {"experts": True}), (start.reshape(6, 2, 2, 2).clone(), {}),
                            (start.t().reshape(8, 3, 2).clone(), {"transposed": True})):
            weight = torch.nn.Parameter(value)
            optimizer = mousse.torch.Optimizer([dict({"params": [weight], "algorithm": "sgd"}, **more)], lr=1.0, mu=0,
                                               weight_decay=0, average=True, average_horizon=2)
            for _ in range(2):
                weight.grad = 0.5 * weight.detach()
                optimizer.step()
            before = weight.detach().clone()
            weight.data = weight.data.clone()  # elsewhere now
            with optimizer.evaluating():
                layouts.append(weight.detach() / (4 * before))
            self.assertTrue(torch.equal(weight.detach(), before))
        for found in layouts:  # each element is the same multiple of its own weight
            self.assert_close([found], [torch.full(found.shape, float(layouts[0].flatten()[0]))])

    def test_schedule_free_is_saved_and_copied(self):
        def make(net):
            return mousse.torch.AdamW(net.parameters(), lr=0.01, wrapper="schedule_free")

        whole, first = model(), model()
        straight, optimizer = make(whole), make(first)
        train(whole, straight, 0, 8)
        train(first, optimizer, 0, 5)
        second, twin = copy.deepcopy((first, optimizer))
        other = make(first)
        other.load_state_dict(optimizer.state_dict())
        expected = list(straight.evaluation_weights().values())
        self.assertFalse(same(expected, weights(whole)))
        for net, resumed in ((first, other), (second, twin)):
            train(net, resumed, 5, 8)
            self.assertTrue(same(list(resumed.evaluation_weights().values()), expected))

    def test_16_bits(self):
        weight = torch.nn.Parameter(torch.ones(4, 4, dtype=torch.bfloat16))
        optimizer = mousse.torch.SGD([weight], lr=1e-3, mu=0, weight_decay=0)
        weight.grad = torch.ones(4, 4, dtype=torch.bfloat16)
        optimizer.step()
        self.assertAlmostEqual(float(optimizer.evaluation_weights()[weight][0, 0]), 0.999, delta=1e-6)
        with optimizer.evaluating():
            pass
        optimizer.step()  # the float32 copy is not lost
        self.assertAlmostEqual(float(optimizer.evaluation_weights()[weight][0, 0]), 0.998, delta=1e-6)

    def test_numpy(self):
        w = numpy.ones((3, 4), numpy.float32)
        optimizer = mousse.numpy.Optimizer({"w": w}, "sgd", lr=1.0, mu=0, weight_decay=0, average=True, average_horizon=2)
        optimizer.step({"w": w / 2})
        optimizer.step({"w": w / 2})
        found = optimizer.evaluation_weights()["w"]
        self.assertEqual(found.shape, (3, 4))
        self.assertTrue(0.25 < float(found[0, 0]) < 1 and float(w[0, 0]) == 0.25)

    def test_numpy_sets_them_later(self):
        w = numpy.ones((3, 4), numpy.float32)
        optimizer = mousse.numpy.Optimizer({"w": w}, "sgd", lr=1.0, mu=0, weight_decay=0)
        optimizer.set("lr_factor", 0.25)
        for twin in (optimizer, copy.deepcopy(optimizer)):
            twin.step({"w": numpy.ones((3, 4), numpy.float32)})
            self.assertEqual(float(twin.evaluation_weights()["w"][0, 0]), 0.75)
        with self.assertRaises(mousse.WrongPhase):
            optimizer.set("average", True)
        with self.assertRaisesRegex(mousse.UnknownName, "as a whole: Optimizer"):
            optimizer.set("clip_norm", 1.0, "sgd")

    def test_refused(self):
        weight = torch.nn.Parameter(torch.ones(3, 4))
        with self.assertRaisesRegex(mousse.UnknownName, r"of the optimizer as a whole: Optimizer\(..., clip_norm=...\)"):
            mousse.torch.Optimizer([{"params": [weight], "algorithm": "muon", "clip_norm": 1.0}])
        for options in ({"wrapper": "free"}, {"average_horizon": 0}, {"clip_norm": -1}):
            for make in (lambda o: mousse.torch.SGD([weight], **o), lambda o: mousse.torch.Optimizer([weight], "sgd", **o),
                         lambda o: mousse.numpy.Optimizer({"w": numpy.ones((3, 4), numpy.float32)}, "sgd", **o)):
                with self.assertRaisesRegex(mousse.InvalidArgument, next(iter(options))):
                    make(options)


if __name__ == "__main__":
    unittest.main()
