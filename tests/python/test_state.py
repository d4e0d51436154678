"""Saving: exact continuation, copies, and runs that are killed at any moment."""
import copy
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import mousse
import mousse.torch
import torch
from problem import model, same, train, weights


def optimizer_of(net):
    return mousse.torch.Optimizer(mousse.torch.groups(net, refresh_every=3, lr=0.02, rest_lr=0.01))


def through_a_file(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


class Saving(unittest.TestCase):
    def straight(self, steps=11):
        net = model()
        return train(net, optimizer_of(net), 0, steps)

    def test_exact_continuation(self):
        for algorithm in mousse.algorithms():
            try:
                net = model()
                whole = train(net, mousse.torch.Optimizer(mousse.torch.groups(net, algorithm)), 0, 9)
            except mousse.InvalidArgument as reason:
                self.assertIn("input", str(reason))  # of algorithms that need more than gradients
                continue
            first = model()
            optimizer = mousse.torch.Optimizer(mousse.torch.groups(first, algorithm))
            train(first, optimizer, 0, 4)
            saved = through_a_file({"model": first.state_dict(), "optimizer": optimizer.state_dict()})
            second = model(seed=99)
            again = mousse.torch.Optimizer(mousse.torch.groups(second, algorithm))
            second.load_state_dict(saved["model"])
            again.load_state_dict(saved["optimizer"])
            self.assertTrue(same(whole, train(second, again, 4, 9)), algorithm)

    def test_saved_options_come_back(self):
        net = model()
        optimizer = optimizer_of(net)
        optimizer.param_groups[0]["lr"] = 0.0123
        saved = optimizer.state_dict()
        other = optimizer_of(net)
        other.load_state_dict(saved)
        self.assertEqual(other.param_groups[0]["lr"], 0.0123)

    def test_deepcopy_and_pickle(self):
        whole = self.straight()
        for duplicate in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
            net = model()
            optimizer = optimizer_of(net)
            told = []
            optimizer.observe(lambda *row: told.append(row))  # cannot be pickled, and stays here
            train(net, optimizer, 0, 5)
            before = len(told)
            other, twin = duplicate((net, optimizer))
            self.assertTrue(same(whole, train(other, twin, 5, 11)))
            self.assertEqual(len(told), before)
            self.assertTrue(same(whole, train(net, optimizer, 5, 11)))
            self.assertGreater(len(told), before)

    def test_copies_with_a_scheduler(self):
        """A scheduler wraps step on the object itself: a copy must not step the original."""
        whole = self.straight()
        for duplicate in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
            net = model()
            optimizer = optimizer_of(net)
            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
            train(net, optimizer, 0, 5, scheduler)
            other, twin = duplicate((net, optimizer))
            before = weights(net)
            self.assertTrue(same(whole, train(other, twin, 5, 11)))
            self.assertTrue(same(before, weights(net)))
            self.assertTrue(same(whole, train(net, optimizer, 5, 11, scheduler)))

    def test_a_state_that_does_not_fit_changes_nothing(self):
        net = model()
        optimizer = optimizer_of(net)
        train(net, optimizer, 0, 5)
        state = optimizer.state_dict()
        damaged = dict(state, mousse=state["mousse"].clone())
        damaged["mousse"][200] ^= 4
        short = dict(state, mousse=state["mousse"][:-9])
        adamw = mousse.torch.AdamW(net.parameters())
        train(net, adamw, 0, 1)
        for bad in (damaged, short, torch.optim.AdamW(net.parameters()).state_dict(), adamw.state_dict()):
            with self.assertRaises((ValueError, mousse.Error)):
                optimizer.load_state_dict(bad)
            self.assertTrue(torch.equal(state["mousse"], optimizer.state_dict()["mousse"]))

    def test_parameters_in_another_order(self):
        """Their state finds them by name; where torch would pair two of different names it is refused."""
        def layers(names):
            net = torch.nn.ModuleDict({name: torch.nn.Linear(4, 4, bias=False) for name in names})
            return net, mousse.torch.Optimizer(mousse.torch.groups(net, "muon"))

        net, optimizer = layers("abc")
        for number, param in enumerate(net.parameters()):
            param.grad = torch.full((4, 4), 1.0 + number)
        optimizer.step()
        saved = optimizer.state_dict()
        for names, wanted in (("cab", [3, 1, 2]), ("xyz", [1, 2, 3]), ("xbc", [1, 2, 3])):
            net, other = layers(names)
            other.load_state_dict(saved)
            self.assertEqual([float(other.arrays(p)["momentum"][0]) for p in net.parameters()], wanted)
            other.step()
        net, other = layers("bxc")
        before = other.state_dict()
        with self.assertRaisesRegex(mousse.BadFormat, "'a.weight' in the place of 'b.weight'"):
            other.load_state_dict(saved)
        self.assertEqual(other.state_dict(), before)

    def test_a_group_that_was_added_just_before(self):
        """As one does who unfreezes layers at the end of an epoch and then saves."""
        def make():
            params = [torch.nn.Parameter(torch.ones(4, 4)) for _ in range(2)]
            for param in params:
                param.grad = torch.eye(4)
            return params, mousse.torch.Muon([{"params": params[:1], "names": ["a"]}])

        params, optimizer = make()
        optimizer.step()
        optimizer.add_param_group({"params": params[1:], "names": ["b"]})
        saved = copy.deepcopy((optimizer.state_dict(), params))
        optimizer.step()
        (first, second), other = make()
        other.add_param_group({"params": [second], "names": ["b"]})
        with torch.no_grad():
            first.copy_(saved[1][0])
        other.load_state_dict(saved[0])
        other.step()
        self.assertTrue(same([first, second], params))

    def test_parameters_in_another_group(self):
        """A state finds its parameter by name, but the saved options come back group by group."""
        def optimizer_for(first, second):
            groups = []
            for names, lr in ((first, 0.5), (second, 0.25)):
                params = [torch.nn.Parameter(torch.ones(4, 4)) for _ in names]
                for param in params:
                    param.grad = torch.ones(4, 4)
                groups.append({"params": params, "names": list(names), "lr": lr})
            return mousse.torch.Muon(groups)

        first = optimizer_for("ab", "cd")
        first.step()
        saved = first.state_dict()
        optimizer_for("ba", "dc").load_state_dict(saved)
        for names in (("cd", "ab"), ("ac", "bd")):
            other = optimizer_for(*names)
            before = other.state_dict()
            with self.assertRaisesRegex(mousse.BadFormat, "group 0 has 'c', which was saved in another group"):
                other.load_state_dict(saved)
            self.assertEqual(other.state_dict(), before)

    def test_groups_that_are_described_otherwise(self):
        """A state of the whole matrix is not one of its blocks, though torch would take over how it was described."""
        def optimizer_for(**layout):
            weight = torch.nn.Parameter(torch.ones(6, 6))
            weight.grad = torch.randn(6, 6)
            optimizer = mousse.torch.Optimizer([dict({"params": [weight], "algorithm": "muon"}, **layout)])
            optimizer.step()
            return optimizer

        saved = optimizer_for().state_dict()
        for layout in ({"row_blocks": 3}, {"transposed": True}):
            other = optimizer_for(**layout)
            before = other.state_dict()
            (key, value), = layout.items()
            with self.assertRaisesRegex(mousse.BadFormat, f"saved with {key} = .* has {key} = {value} here"):
                other.load_state_dict(saved)
            self.assertTrue(torch.equal(other.state_dict()["mousse"], before["mousse"]))
            self.assertEqual(other.param_groups[0][key], value)
        optimizer_for(row_blocks=1, transposed=False).load_state_dict(saved)

    def test_another_clip_norm_than_the_saved_one(self):
        """It is not in torch's groups, so that a load cannot bring it along; a rate that differs comes with them."""
        net = model()
        first, other = mousse.torch.AdamW(net.parameters(), lr=0.5, clip_norm=2.0), mousse.torch.AdamW(net.parameters())
        train(net, first, 0, 1)
        with self.assertWarnsRegex(RuntimeWarning, "clip_norm of the optimizer is 0; the state was saved with 2") as told:
            other.load_state_dict(first.state_dict())
        self.assertEqual((len(told.warnings), told.filename), (1, __file__))

    def test_a_state_that_is_cut_short(self):
        weight = torch.nn.Parameter(torch.ones(4))
        optimizer = mousse.torch.AdamW([weight])
        weight.grad = torch.ones(4)
        optimizer.step()
        saved = optimizer.state_dict()
        saved["mousse"] = saved["mousse"][:100]
        with self.assertRaisesRegex(mousse.BadFormat, "cut short: it has 100 bytes"):
            optimizer.load_state_dict(saved)

    def test_a_state_of_another_shape_under_a_long_name(self):
        """Refused also where the sentence that says so is cut within a character, or when Ctrl-C comes meanwhile."""
        def optimizer_for(rows, name):
            weight = torch.nn.Parameter(torch.ones(rows, 4))
            weight.grad = torch.ones(rows, 4)
            return mousse.torch.Optimizer([{"params": [weight], "names": [name], "algorithm": "muon"}])

        for before in ("", "a", "ab"):
            name = before + "\u8a18" * 150
            small, large = optimizer_for(4, name), optimizer_for(6, name)
            small.step()
            with self.assertRaisesRegex(mousse.BadFormat, "4 x 4 elements, here 6 x 4"):
                large.load_state_dict(small.state_dict())
            with mock.patch("mousse._core.shown", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    large.load_state_dict(small.state_dict())

    def test_an_interrupted_save_is_no_state(self):
        net = model()
        optimizer = mousse.torch.Optimizer(mousse.torch.groups(net))
        train(net, optimizer, 0, 2)
        saved = optimizer.state_dict()
        for what, call in (("write", optimizer.state_dict), ("read", lambda: optimizer.load_state_dict(saved))):
            with mock.patch.object(mousse._core._Stream, what, side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    call()
        self.assertTrue(torch.equal(optimizer.state_dict()["mousse"], saved["mousse"]))

    def test_a_state_from_before_an_option(self):
        net = model()
        optimizer = optimizer_of(net)
        train(net, optimizer, 0, 5)
        state = optimizer.state_dict()
        for group in state["param_groups"]:
            group.pop("lr_peak", None)
        optimizer.load_state_dict(state)
        self.assertEqual(optimizer.param_groups[0]["lr_peak"], 0)
        self.assertTrue(same(train(net, optimizer, 5, 11), self.straight()))

    def test_kills(self):
        """Killed again and again, the run ends in the weights of one that was not."""
        with tempfile.TemporaryDirectory() as folder:
            command, last = [sys.executable, __file__, "run", folder], 0
            for _ in range(3):
                with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                    process.stdin.write("\n" * 10)
                    process.stdin.flush()
                    taken = [int(process.stdout.readline()) for _ in range(5)]
                    process.kill()  # at one of the next five steps
                self.assertGreater(taken[0], last)  # it went on from there
                last = taken[-1]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            ended = torch.load(pathlib.Path(folder) / "state")["model"]
        net = model()
        train(net, optimizer_of(net), 0, 60)
        self.assertTrue(same(list(ended.values()), weights(net)))


def run(folder):
    """60 steps that begin where the folder's last state is; saved by renaming after every one. Each waits for a line, or
    for there to be no more."""
    path, net = pathlib.Path(folder) / "state", model()
    optimizer, step = optimizer_of(net), 0
    if path.exists():
        saved = torch.load(path)
        net.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    while step < 60:
        sys.stdin.readline()
        train(net, optimizer, step, step + 1)
        step += 1
        torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, f"{path}.new")
        os.replace(f"{path}.new", path)
        print(step, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2])
    else:
        unittest.main()
