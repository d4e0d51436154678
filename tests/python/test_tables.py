"""Options, signatures and messages come from the library's tables."""
import inspect
import re
import unittest

import mousse
import mousse.torch
import torch


class Tables(unittest.TestCase):
    def one(self):
        return torch.nn.Parameter(torch.ones(4, 6))

    def test_every_algorithm_has_a_class(self):
        classes = {getattr(mousse.torch, name) for name in mousse.torch.__all__}
        for algorithm in mousse.algorithms():
            made = [c for c in classes if c.__name__.lower() == algorithm]
            self.assertEqual(len(made), 1, algorithm)
            self.assertTrue(issubclass(made[0], torch.optim.Optimizer))
            names = list(inspect.signature(made[0]).parameters)
            self.assertEqual(names[1:-2], list(mousse.options(algorithm)))
            self.assertIn(mousse.algorithm_help(algorithm), made[0].__doc__)

    def test_type_checkers_see_every_class(self):
        block = inspect.getsource(mousse.torch).split("if TYPE_CHECKING:")[1].split("__all__")[0]
        listed = re.findall(r"^    class (\w+)\(_Algorithm\)", block, re.M)
        self.assertEqual(sorted(listed), sorted(set(mousse.torch.__all__) - {"Optimizer", "Plan", "groups"}))

    def test_defaults_are_the_librarys(self):
        group = mousse.torch.Mousse([self.one()]).param_groups[0]
        for name, option in mousse.options("mousse").items():
            self.assertEqual(group[name], option.initial, name)

    def test_unknown_options(self):
        for name, hint in (("learning_rate", "lr"), ("momentum", "mu"), ("wd", "weight_decay"), ("grafft", "graft")):
            with self.assertRaisesRegex(mousse.UnknownName, f"did you mean {hint}"):
                mousse.torch.Mousse([self.one()], **{name: 1})
        with self.assertRaisesRegex(mousse.UnknownName, "no algorithm 'muonn'.*muon"):
            mousse.torch.Optimizer([self.one()], "muonn")
        with self.assertRaisesRegex(ValueError, "needs an algorithm"):
            mousse.torch.Optimizer([self.one()])

    def test_values_are_checked_at_once(self):
        for options in ({"lr": -1}, {"lr": float("nan")}, {"lr": "fast"}, {"shape": "round"}, {"mu": 2}):
            with self.assertRaises(ValueError, msg=str(options)):
                mousse.torch.Muon([self.one()], **options)
        with self.assertRaisesRegex(ValueError, "refresh_every = 2.5 must be a whole number"):
            mousse.torch.Mousse([self.one()], refresh_every=2.5)

    def test_a_rate_without_its_name(self):
        """As torch.optim takes it; everything else is named."""
        self.assertEqual(mousse.torch.AdamW([self.one()], 0.25).param_groups[0]["lr"], 0.25)
        self.assertEqual(mousse.torch.Muon([self.one()], lr=0).param_groups[0]["lr"], 0)
        self.assertTrue(str(inspect.signature(mousse.torch.SGD)).startswith("(params, lr=0.01, *, mu="))
        with self.assertRaisesRegex(TypeError, r"^SGD.__init__\(\)"):
            mousse.torch.SGD([self.one()], 0.25, 0.9)

    def test_names_are_checked_at_once(self):
        for names in ({"a": 0, "b": 1}.keys(), (name for name in "ab"), ("a", "b")):
            group = {"params": (self.one() for _ in range(2)), "names": names}
            optimizer = mousse.torch.Optimizer([group], "muon")
            self.assertEqual(optimizer.param_groups[0]["names"], ["a", "b"])
        self.assertEqual(mousse.torch.SGD([{"params": self.one(), "names": "w"}]).param_groups[0]["names"], ["w"])
        for names, sentence in ((["a"], "2 parameters and 1 names"), ("ab", "2 parameters and 1 names"),
                                ([1, 2], "called 1")):
            with self.assertRaisesRegex(mousse.InvalidArgument, sentence):
                mousse.torch.Muon([{"params": [self.one(), self.one()], "names": names}])

    def test_groups_of_another_optimizer(self):
        """With what a scheduler has noted there."""
        first = mousse.torch.SGD([self.one()], lr=0.5)
        torch.optim.lr_scheduler.OneCycleLR(first, 1.0, total_steps=10, cycle_momentum=False)
        second = mousse.torch.SGD(first.param_groups)
        torch.optim.lr_scheduler.LambdaLR(second, lambda _: 1.0, last_epoch=3)
        self.assertEqual(second.param_groups[0]["initial_lr"], first.param_groups[0]["initial_lr"])

    def test_a_default_that_no_group_has(self):
        with self.assertRaisesRegex(mousse.UnknownName, "refresh_every"):
            mousse.torch.Optimizer([{"params": [self.one()], "algorithm": "adamw"}], refresh_every=3)

    def test_vectors_are_refused_with_a_way_on(self):
        optimizer = mousse.torch.Muon([torch.nn.Parameter(torch.ones(5))])
        with self.assertRaisesRegex(ValueError, "is not for muon"):
            optimizer.step()

    def test_version(self):
        self.assertRegex(mousse.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
