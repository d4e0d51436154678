"""Steps: the same bits as the C library, torch.optim's results, and what loops of PyTorch do."""
import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import mousse
import mousse.torch
import numpy
import torch
from problem import loss_of, model, same, train, weights


def in_c(algorithm, data, rows, cols, steps, options):
    """The weights after the steps of the C program over the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data"
        data.tofile(path)
        words = [word for pair in options.items() for word in map(str, pair)]
        subprocess.run([os.environ["PYTHON_STEPS"], algorithm, str(rows), str(cols), str(steps), str(path), *words],
                       check=True)
        return numpy.fromfile(path, numpy.float32, rows * cols).reshape(rows, cols)


def needs_inputs(algorithm):
    from mousse._library import ffi, lib
    return lib.mousse_algorithm_input(algorithm.encode(), 0) != ffi.NULL


class Bits(unittest.TestCase):
    def test_every_algorithm_has_the_bits_of_the_c_library(self):
        rows, cols, steps = 24, 40, 12
        data = numpy.random.default_rng(3).standard_normal((steps + 1, rows, cols), dtype=numpy.float32)
        for algorithm in mousse.algorithms():
            if needs_inputs(algorithm):
                continue
            expected = in_c(algorithm, data, rows, cols, steps, {"lr": 0.01})
            weight = torch.nn.Parameter(torch.from_numpy(data[0].copy()))
            optimizer = mousse.torch.Optimizer([weight], algorithm, lr=0.01)
            for gradient in data[1:]:
                weight.grad = torch.from_numpy(gradient.copy())
                optimizer.step()
            self.assertTrue(numpy.array_equal(weight.detach().numpy(), expected), algorithm)


class AgainstTorch(unittest.TestCase):
    def compare(self, ours, theirs):
        one, other = model(), model()
        a = train(one, ours(one.parameters()), 0, 100)
        b = train(other, theirs(other.parameters()), 0, 100)
        start = weights(model())
        moved = sum(float((x - s).norm()) ** 2 for x, s in zip(b, start)) ** 0.5
        apart = sum(float((x - y).norm()) ** 2 for x, y in zip(a, b)) ** 0.5
        self.assertLess(apart / moved, 2e-4)  # losses feed back into gradients

    def test_adamw(self):
        self.compare(lambda p: mousse.torch.AdamW(p, lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01),
                     lambda p: torch.optim.AdamW(p, lr=1e-3, betas=(0.9, 0.999), weight_decay=0.01))

    def test_sgd(self):
        self.compare(lambda p: mousse.torch.SGD(p, lr=0.02, mu=0.9, nesterov=True, weight_decay=0),
                     lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True))

    def test_same_gradients(self):
        """Without the feedback of a loss: within 1e-6, of the largest weight where that is above 1."""
        generator = torch.Generator().manual_seed(5)
        gradients = torch.randn(100, 30, 20, generator=generator)
        for ours, theirs in (
                (lambda p: mousse.torch.AdamW(p, lr=1e-3, beta2=0.999, weight_decay=0.1),
                 lambda p: torch.optim.AdamW(p, lr=1e-3, betas=(0.9, 0.999), weight_decay=0.1)),
                (lambda p: mousse.torch.SGD(p, lr=0.01, mu=0.9, nesterov=False, weight_decay=0),
                 lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9))):
            pair = [torch.nn.Parameter(torch.zeros(30, 20)) for _ in range(2)]
            optimizers = ours([pair[0]]), theirs([pair[1]])
            for gradient in gradients:
                for weight, optimizer in zip(pair, optimizers):
                    weight.grad = gradient.clone()
                    optimizer.step()
            self.assertLess(float((pair[0] - pair[1]).abs().max() / max(1, pair[1].abs().max())), 1e-6)


def gpt(positions):
    """The layers of a GPT, 16 wide."""
    def linear(inputs, outputs):
        return torch.nn.Linear(inputs, outputs, bias=False)
    return torch.nn.ModuleDict({
        "tokens": torch.nn.Embedding(50, 16), "positions": torch.nn.Embedding(positions, 16),
        "attention": torch.nn.ModuleDict({"c_attn": linear(16, 48), "proj": linear(16, 16)}),
        "mlp": torch.nn.ModuleDict({"fc": linear(16, 64), "proj": linear(64, 16)}),
        "lm_head": linear(16, 50)})


def roles_of(net):
    """Names of the parameters by what groups() does with them, fused ones apart."""
    found = {}
    for group in mousse.torch.groups(net):
        if "row_blocks" not in group:
            found.setdefault("matrix" if group["algorithm"] == "mousse" else "rest", []).extend(group["names"])
    return {role: sorted(names) for role, names in found.items()}


class Loops(unittest.TestCase):
    def test_two_changed_lines(self):
        net = model()
        before = float(loss_of(net, 0))
        train(net, mousse.torch.Optimizer(mousse.torch.groups(net, rest_lr=0.01), lr=0.02), 0, 100)
        self.assertLess(float(loss_of(net, 0)), 0.5 * before)

    def test_schedulers_move_every_group(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net, lr=0.02, rest_lr=0.004))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 ** step)
        halved = train(net, optimizer, 0, 3, scheduler)
        other = model()
        by_hand = mousse.torch.Optimizer(mousse.torch.groups(other, lr=0.02, rest_lr=0.004))
        for step in range(3):
            for group, rate in zip(by_hand.param_groups, (0.02, 0.004, 0.004, 0.004)):
                group["lr"] = rate * 0.5 ** step
            train(other, by_hand, step, step + 1)
        self.assertTrue(same(halved, weights(other)))

    def test_parameters_without_gradient_are_skipped(self):
        net = model()
        optimizer = mousse.torch.AdamW(net.parameters(), weight_decay=0.1)
        train(net, optimizer, 0, 2)
        first = net[1].weight
        before = first.detach().clone()
        loss_of(net, 3).backward()
        first.grad = None
        optimizer.step()
        self.assertTrue(torch.equal(first, before))
        self.assertFalse(torch.equal(net[4].weight, model()[4].weight))

    def test_closure(self):
        net = model()
        optimizer = mousse.torch.SGD(net.parameters(), lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = loss_of(net, 0)
            loss.backward()
            return loss

        first = float(optimizer.step(closure))
        self.assertLess(float(optimizer.step(closure)), first)

    def test_accumulation_and_clipping(self):
        net, other = model(), model()
        for target in (net, other):
            for step in (0, 1):
                loss_of(target, step).backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        self.assertGreater(float(norm), 0.1)
        mousse.torch.SGD(net.parameters(), lr=0.1).step()
        mousse.torch.SGD(other.parameters(), lr=0.1, clip_norm=0.1).step()
        for a, b in zip(net.parameters(), other.parameters()):
            self.assertLess(float((a - b).abs().max()), 1e-6)

    def test_a_step_is_all_or_nothing(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        train(net, optimizer, 0, 2)
        before, state = weights(net), optimizer.state_dict()["mousse"]
        loss_of(net, 5).backward()
        net[4].weight.grad[3, 5] = float("nan")
        with self.assertRaisesRegex(mousse.NotFinite, "4.weight.*row 3, column 5"):
            optimizer.step()
        self.assertTrue(same(before, weights(net)))
        self.assertTrue(torch.equal(state, optimizer.state_dict()["mousse"]))

    def test_groups_added_later(self):
        net = model()
        layers = [net[1].weight], [net[4].weight]
        optimizer = mousse.torch.Muon(layers[0])
        train(net, optimizer, 0, 3)
        momentum = optimizer.arrays("0")["momentum"]
        optimizer.add_param_group({"params": layers[1], "algorithm": "adamw", "lr": 1e-3})
        self.assertTrue(torch.equal(momentum, optimizer.arrays("0")["momentum"]))
        before = layers[1][0].detach().clone()
        train(net, optimizer, 3, 4)
        self.assertFalse(torch.equal(before, layers[1][0]))

    def test_tied_parameters(self):
        net = model()
        net.register_module("again", net[1])
        self.assertEqual(len(mousse.torch.groups(net)[0]["params"]), 2)
        train(net[:7], mousse.torch.Optimizer(mousse.torch.groups(net)), 0, 2)

    def test_a_table_of_positions_makes_no_heads(self):
        """Of as many positions as the model is wide, or as its hidden layer is: only the vocabulary has a head."""
        for positions in (16, 64):
            net = gpt(positions)
            self.assertEqual(roles_of(net)["matrix"], ["attention.proj.weight", "mlp.fc.weight", "mlp.proj.weight"])
            self.assertEqual(roles_of(net)["rest"], ["lm_head.weight", "positions.weight", "tokens.weight"])

    def test_heads_of_several_layers(self):
        """Two layers fit the vocabulary: those that are called so; nobody is: both, since they would be large."""
        named = torch.nn.ModuleDict({"table": torch.nn.Embedding(50, 8), "up": torch.nn.Linear(8, 50, bias=False),
                                     "heads": torch.nn.ModuleList([torch.nn.Linear(8, 50, bias=False)])})
        self.assertEqual(roles_of(named), {"matrix": ["up.weight"], "rest": ["heads.0.weight", "table.weight"]})
        unnamed = torch.nn.ModuleDict({"table": torch.nn.Embedding(50, 8), "a": torch.nn.Linear(8, 50, bias=False),
                                       "b": torch.nn.Linear(8, 50, bias=False)})
        self.assertEqual(roles_of(unnamed), {"rest": ["a.weight", "b.weight", "table.weight"]})

    def test_queries_keys_and_values_are_three_matrices(self):
        net = gpt(16)
        fused = [g for g in mousse.torch.groups(net) if g.get("row_blocks") == 3]
        self.assertEqual([g["names"] for g in fused], [["attention.c_attn.weight"]])
        whole = mousse.torch.groups(net, roles={"attention.c_attn.weight": "matrix"})
        self.assertFalse(any("row_blocks" in g for g in whole))
        theirs = torch.nn.MultiheadAttention(16, 2)
        fused = [g for g in mousse.torch.groups(theirs, "muon") if "row_blocks" in g]
        self.assertEqual([g["names"] for g in fused], [["in_proj_weight"]])
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(theirs, "muon"))
        x = torch.randn(4, 1, 16)
        theirs(x, x, x)[0].square().sum().backward()
        optimizer.step()
        self.assertEqual(optimizer.arrays("in_proj_weight")["momentum"].shape, (3, 256))

    def test_threads_follow_torch(self):
        results, before = [], torch.get_num_threads()
        try:
            for threads in (1, 2, 3):
                torch.set_num_threads(1)
                net = model()
                optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
                train(net, optimizer, 0, 2)
                gradients = [p.grad.clone() for p in net.parameters()]
                torch.set_num_threads(threads)
                for p, gradient in zip(net.parameters(), gradients):
                    p.grad = gradient
                optimizer.step()
                results.append(weights(net))
        finally:
            torch.set_num_threads(before)
        self.assertTrue(same(results[0], results[1]) and same(results[0], results[2]))

    def test_a_forked_child_can_step(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        loss_of(net, 0).backward()
        optimizer.step()
        child = os.fork()
        if child == 0:
            import signal
            signal.alarm(20)  # a child that hangs dies
            optimizer.step()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_observers(self):
        net, told = model(), []
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        optimizer.observe(lambda name, quantity, value: told.append((name, quantity, value)))
        watched = train(net, optimizer, 0, 2)
        self.assertTrue(any(row[:2] == ("4.weight", "update_rms") and row[2] > 0 for row in told))
        other = model()
        self.assertTrue(same(watched, train(other, mousse.torch.Optimizer(mousse.torch.groups(other)), 0, 2)))

        def fail(name, quantity, value):
            raise KeyError("mine")
        optimizer.observe(fail)
        with self.assertRaisesRegex(KeyError, "mine"):
            optimizer.step()

        def once(*told):
            optimizer.observe(None)
            fail(*told)
        optimizer.observe(once)
        with self.assertRaisesRegex(KeyError, "mine"):
            optimizer.step()
        optimizer.step()

    def test_an_observer_that_uses_the_optimizer(self):
        """The step is over then, also for values that are copied to the library and back."""
        def start():
            return torch.nn.Parameter(torch.ones(4, 8)[:, ::2])

        weight, more = start(), torch.nn.Parameter(torch.ones(4))
        optimizer = mousse.torch.SGD([weight], lr=0.5, mu=0.5, nesterov=False, weight_decay=0, average=True)
        seen, expected = [], [0.5, -0.25, -1.125, -2.0625]

        def evaluate(*_):
            seen.append(float(weight[0, 0]))
            optimizer.evaluation_weights()

        def load(*_):
            seen.append(float(weight[0, 0]))
            optimizer.load_state_dict(optimizer.state_dict())
            optimizer.observe(None)

        def add(*_):
            seen.append(float(weight[0, 0]))
            optimizer.add_param_group({"params": [more]})
            optimizer.observe(None)

        def stop(*_):
            seen.append(float(weight[0, 0]))
            optimizer.observe(None)
        optimizer.observe(lambda *_: optimizer.step())
        weight.grad = torch.zeros(4, 4)
        with self.assertRaisesRegex(mousse.InvalidArgument, "an observer cannot take a step"):
            optimizer.step()
        for observer, value in zip((evaluate, load, add, stop), expected):
            weight.grad = torch.ones(4, 4)
            optimizer.observe(observer)
            optimizer.step()
            self.assertEqual(float(weight[0, 0]), value)
            self.assertEqual(set(seen), {value})
            seen.clear()

    def test_warnings_name_the_program_s_line(self):
        """Also where torch has wrapped the step, as it does for a scheduler."""
        weight = torch.nn.Parameter(torch.ones(4))
        weight.grad = torch.ones(4)
        optimizer = mousse.torch.SGD([weight])
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        optimizer.step()
        with mock.patch.object(mousse._core.Core, "_check", lambda core, *_: core._told.append("as the library does")):
            with self.assertWarnsRegex(RuntimeWarning, "as the library does") as told:
                optimizer.step()
        self.assertEqual(told.filename, __file__)

    def test_what_an_observer_raises_comes_after_a_whole_step(self):
        """Also for a parameter that is copied to the library and back; one without a gradient is left alone."""
        sliced, plain, idle = (torch.nn.Parameter(torch.ones(4, 8)[:, ::2]), torch.nn.Parameter(torch.ones(4)),
                               torch.nn.Parameter(torch.ones(4, 8)[:, ::2]))
        optimizer = mousse.torch.SGD([sliced, plain, idle], lr=0.5, mu=0)
        sliced.grad, plain.grad = torch.ones(4, 4), torch.ones(4)
        versions = [p._version for p in (sliced, plain, idle)]
        optimizer.observe(lambda *told: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            optimizer.step()
        for param in (sliced, plain):
            self.assertTrue(torch.equal(param.detach(), torch.full(param.shape, 0.5)))
        self.assertEqual([p._version > v for p, v in zip((sliced, plain, idle), versions)], [True, True, False])

    def test_hooks(self):
        """Those that this version of torch has: the profiler's around a step, and from 2.0 on those of users."""
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        with torch.autograd.profiler.profile() as profile:
            train(net, optimizer, 0, 1)
        self.assertTrue(any("Optimizer.step#Optimizer.step" in event.name for event in profile.function_events))
        if hasattr(optimizer, "register_step_post_hook"):
            seen = []
            optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
            optimizer.register_step_post_hook(lambda *_: seen.append("after"))
            train(net, optimizer, 1, 2)
            self.assertEqual(seen, ["before", "after"])

    def test_plan(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        plan = optimizer.plan()
        self.assertEqual({row[0] for row in plan.rows}, {name for name, _ in net.named_parameters()})
        self.assertGreater(plan.bytes, sum(row[2] for row in plan.rows))
        self.assertIn("MB", str(plan))
        train(net, optimizer, 0, 1)
        self.assertEqual(optimizer.plan().rows, plan.rows)

    def test_a_plan_that_fails_changes_nothing(self):
        net, other = model(), model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        train(net, optimizer, 0, 1)
        rate = optimizer.param_groups[0]["lr"]
        optimizer.param_groups[0]["lr"] = -1
        with self.assertRaises(mousse.OutOfRange):
            optimizer.plan()
        optimizer.param_groups[0]["lr"] = None
        with self.assertRaisesRegex(mousse.InvalidArgument, "lr = None is not a number"):
            optimizer.step()
        optimizer.param_groups[0]["lr"] = rate
        expected = train(other, mousse.torch.Optimizer(mousse.torch.groups(other)), 0, 3)
        self.assertTrue(same(train(net, optimizer, 1, 3), expected))

    def test_a_rate_that_is_a_tensor_may_change_in_place(self):
        weight, rate = torch.nn.Parameter(torch.ones(4)), torch.tensor(0.5)
        optimizer = mousse.torch.SGD([weight], lr=rate, mu=0)
        for value in (0.5, 0.0, 0.25):
            rate.fill_(value)
            weight.grad, before = torch.ones(4), weight.detach().clone()
            optimizer.step()
            self.assertTrue(torch.equal(weight.detach(), before - value))

    def test_parameters_behind_the_optimizers_back(self):
        one, other = torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.ones(4))
        optimizer = mousse.torch.SGD([{"params": [one]}, {"params": [other]}])
        one.grad = other.grad = torch.ones(4)
        optimizer.step()
        removed = optimizer.param_groups.pop(0)
        before = one.detach().clone()
        with self.assertRaisesRegex(ValueError, "add_param_group"):
            optimizer.step()
        self.assertTrue(torch.equal(one.detach(), before))
        optimizer.param_groups.insert(0, removed)
        optimizer.step()
        for key, value in (("algorithm", "adamw"), ("names", ["w"]), ("row_blocks", 2)):
            group = optimizer.param_groups[0]
            before = dict(group)
            group[key] = value
            with self.assertRaisesRegex(ValueError, "other parameters, names, algorithms or layouts"):
                optimizer.step()
            threads = torch.get_num_threads()
            torch.set_num_threads(threads + 1)  # for which the library's object is made anew
            for call in (optimizer.step, optimizer.evaluation_weights):
                with self.assertRaisesRegex(ValueError, "other parameters, names, algorithms or layouts"):
                    call()
            torch.set_num_threads(threads)
            group.clear()
            group.update(before)
        optimizer.step()
        named = mousse.torch.SGD([{"params": [one], "names": ["one"]}])
        named.step()
        named.param_groups[0]["names"][0] = "other"
        with self.assertRaisesRegex(ValueError, "other parameters, names, algorithms or layouts"):
            named.step()
        optimizer.param_groups[0]["params"].append(torch.nn.Parameter(torch.ones(3)))
        with self.assertRaisesRegex(ValueError, "add_param_group"):
            optimizer.step()

    def test_autograd_knows_that_values_have_changed(self):
        for layout in (torch.ones(3, 4), torch.ones(4, 3).t(), torch.ones(3, 8)[:, :4], torch.tensor(1.0)):
            weight, idle = torch.nn.Parameter(layout), torch.nn.Parameter(torch.ones(3))
            optimizer = mousse.torch.SGD([weight, idle])
            loss = weight.square().sum()
            loss.backward(retain_graph=True)
            untouched = idle._version
            optimizer.step()
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()
            self.assertEqual(idle._version, untouched)

    def test_another_thread_waits_for_the_step(self):
        net, finished = model(), []
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        train(net, optimizer, 0, 1)
        saver = threading.Thread(target=lambda: finished.append(optimizer.state_dict()))

        def during(name, quantity, value):
            if saver.ident is None:
                saver.start()
                saver.join(0.3)
                self.assertFalse(finished)
                optimizer.observe(None)  # the thread that steps may go on using it

        optimizer.observe(during)
        train(net, optimizer, 1, 2)
        saver.join()
        self.assertTrue(torch.equal(finished[0]["mousse"], optimizer.state_dict()["mousse"]))

    def test_threads_that_take_the_first_step(self):
        """One makes the library's object, the others wait for it."""
        weight, before = torch.nn.Parameter(torch.zeros(4)), mousse._core.Core.prepare
        weight.grad = torch.ones(4)
        optimizer = mousse.torch.SGD([weight], lr=0.5, mu=0.5, nesterov=False, weight_decay=0)

        def slowly(core):
            time.sleep(0.1)
            before(core)

        with mock.patch.object(mousse._core.Core, "prepare", slowly):
            threads = [threading.Thread(target=optimizer.step) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertTrue(torch.equal(weight.detach(), torch.full((4,), -0.5 * (1 + 1.5 + 1.75))))

    def test_groups_never_guess(self):
        class Odd(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Parameter(torch.ones(4, 4))

        with self.assertRaisesRegex(ValueError, "table.*roles="):
            mousse.torch.groups(Odd())
        made = mousse.torch.groups(Odd(), roles={"table": "matrix"})
        self.assertEqual(made[0]["algorithm"], "mousse")
        with self.assertRaisesRegex(ValueError, "no parameter 'nope'"):
            mousse.torch.groups(Odd(), roles={"table": "matrix", "nope": "head"})
        frozen = model()
        frozen[1].requires_grad_(False)
        with self.assertRaisesRegex(ValueError, "'1.weight' that needs a gradient"):
            mousse.torch.groups(frozen, roles={"1.weight": "head"})
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(mousse.torch.groups(torch.nn.ReLU(), verbose=True), [])
        roles = {g["algorithm"]: g["names"] for g in mousse.torch.groups(model(), rest="lion")}
        self.assertEqual(roles["mousse"], ["1.weight", "4.weight"])


if __name__ == "__main__":
    unittest.main()
