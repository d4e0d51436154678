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
