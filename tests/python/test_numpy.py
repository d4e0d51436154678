"""The same optimizer over numpy arrays."""
import copy
import os
import pickle
import signal
import subprocess
import sys
import unittest
import warnings

import mousse
import mousse.numpy
import numpy


def numbers(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32)


class Arrays(unittest.TestCase):
    def make(self, w, b):
        return mousse.numpy.Optimizer({"w": w, "b": b}, {"w": "muon", "b": "adamw"}, lr=0.01)

    def test_steps_in_place_and_resume(self):
        w, b = numbers(8, 6), numbers(6)
        optimizer = self.make(w, b)
        for seed in range(4):
            optimizer.step({"w": numbers(8, 6, seed=seed), "b": numbers(6, seed=seed)})
        saved, at = optimizer.save(), (w.copy(), b.copy())
        optimizer.step({"w": numbers(8, 6), "b": numbers(6)})
        again = self.make(*at)
        again.load(saved)
        again.step({"w": numbers(8, 6), "b": numbers(6)})
        self.assertTrue(numpy.array_equal(at[0], w) and numpy.array_equal(at[1], b))
        self.assertEqual(again.steps, 5)

    def test_other_options_than_the_saved_ones(self):
        """Options are the program's: a state brings none, and a difference is a warning."""
        saved = mousse.numpy.Optimizer({"w": numbers(4, 6)}, "adamw", beta2=0.9, clip_norm=1.0).save()
        with self.assertWarns(RuntimeWarning) as told:
            mousse.numpy.Optimizer({"w": numbers(4, 6)}, "adamw", beta2=0.99, clip_norm=1.0).load(saved)
        self.assertEqual(str(told.warning), "beta2 of group 0 (adamw) is 0.99; the state was saved with 0.9")
        self.assertEqual(told.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mousse.numpy.Optimizer({"w": numbers(4, 6)}, "adamw", beta2=0.9, clip_norm=1.0).load(saved)
            other = mousse.numpy.Optimizer({"w": numbers(4, 6)}, "adamw", beta2=0.99)
            with self.assertRaisesRegex(mousse.BadFormat, "checksum"):
                other.load(saved[:-1] + bytes([saved[-1] ^ 1]))
            other.step({"w": numbers(4, 6)})  # does not warn of the load that failed

    def test_deepcopy_and_pickle(self):
        for duplicate in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
            arrays = {"w": numbers(8, 6), "b": numbers(6)}
            optimizer = self.make(**arrays)
            optimizer.observe(lambda *told: None)  # cannot be pickled
            optimizer.step({"w": numbers(8, 6, seed=2), "b": numbers(6, seed=2)})
            optimizer.set("lr", 0.03)
            theirs, twin = duplicate((arrays, optimizer))
            for each in (twin, optimizer):
                each.step({"w": numbers(8, 6, seed=3), "b": numbers(6, seed=3)})
            self.assertIsNot(theirs["w"], arrays["w"])
            self.assertTrue(all(numpy.array_equal(theirs[name], arrays[name]) for name in arrays))
            self.assertTrue(numpy.array_equal(twin.arrays("w")["momentum"], optimizer.arrays("w")["momentum"]))

    def test_missing_gradients_are_skipped(self):
        w, b = numbers(8, 6), numbers(6)
        before = b.copy()
        self.make(w, b).step({"w": numbers(8, 6, seed=2)})
        self.assertTrue(numpy.array_equal(b, before))
        self.assertFalse(numpy.array_equal(w, numbers(8, 6)))

    def test_refused(self):
        w, b = numbers(8, 6), numbers(6)
        with self.assertRaisesRegex(ValueError, "float32"):
            mousse.numpy.Optimizer({"w": w.astype(float)}, "muon")
        with self.assertRaisesRegex(ValueError, "contiguous"):
            mousse.numpy.Optimizer({"w": w.T}, "muon")
        with self.assertRaisesRegex(mousse.UnknownName, "did you mean lr"):
            mousse.numpy.Optimizer({"w": w}, "muon", learning_rate=1)
        for empty in (numpy.zeros(0, numpy.float32), numpy.zeros((0, 3), numpy.float32)):
            with self.assertRaisesRegex(ValueError, "no elements"):
                mousse.numpy.Optimizer({"e": empty}, "adamw")
        for options in ({}, {"lr": 0.1}):
            with self.assertRaisesRegex(ValueError, "no parameters"):
                mousse.numpy.Optimizer({}, **options)
        for name in (1, None, "a\0b"):
            with self.assertRaisesRegex(ValueError, "text without NUL"):
                mousse.numpy.Optimizer({name: w}, "muon")
        with self.assertRaisesRegex(mousse.UnknownName, "no algorithm 'None'"):
            mousse.numpy.Optimizer({"w": w}, None)
        for unnamed, kind in ((w, "ndarray"), ([w], "list")):
            with self.assertRaisesRegex(ValueError, f"parameters are given as a {kind}; give them by name"):
                mousse.numpy.Optimizer(unnamed, "muon")
        optimizer = self.make(w, b)
        with self.assertRaisesRegex(ValueError, "gradients are given as a list"):
            optimizer.step([w, b])
        with self.assertRaisesRegex(ValueError, "no parameter 'x'"):
            optimizer.arrays("x")
        with self.assertRaisesRegex(ValueError, "under 'lion'.*muon, adamw"):
            optimizer.set("lr", 0.1, "lion")
        with self.assertRaisesRegex(mousse.InvalidArgument, "lr = None is not a number"):
            optimizer.set("lr", None)
        with self.assertRaisesRegex(ValueError, "gradient of w"):
            optimizer.step({"w": numbers(6, 8)})
        with self.assertRaisesRegex(ValueError, "no parameter 'x'"):
            optimizer.step({"x": w})
        with self.assertRaises(mousse.NotFinite):
            optimizer.step({"w": numpy.full((8, 6), numpy.inf, numpy.float32)})
        self.assertTrue(numpy.array_equal(w, numbers(8, 6)))

    def test_sentences_that_are_cut_within_a_character(self):
        """Long names are cut where the sentence about them ends; which exception it is does not depend on that."""
        for before in ("", "a", "ab"):
            name = before + "\u8a18" * 150
            optimizer = mousse.numpy.Optimizer({name: numbers(4, 4)}, "muon")
            with self.assertRaisesRegex(mousse.NotFinite, "nothing was changed"):
                optimizer.step({name: numpy.full((4, 4), numpy.nan, numpy.float32)})

    def test_scalars_and_other_orders(self):
        scale, w = numpy.array(1, numpy.float32), numbers(8, 6)
        optimizer = mousse.numpy.Optimizer({"scale": scale, "w": w}, "sgd", lr=0.5, mu=0)
        optimizer.step({"scale": numpy.float32(1), "w": numpy.asfortranarray(numbers(8, 6))})
        self.assertEqual(float(scale), 0.5)
        self.assertTrue(numpy.array_equal(w, numbers(8, 6) * numpy.float32(0.5)))

    def test_a_forked_child_can_step(self):
        """With the optimizer that it got, in the bits of one that was not forked, and with one of its own."""
        w, b = numbers(64, 48), numbers(6)
        optimizer = self.make(w, b)
        step = {"w": numbers(64, 48, seed=2), "b": numbers(6, seed=2)}
        optimizer.step(step)
        optimizer.set("lr", 0.03)
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that hangs dies
            optimizer.step(step)
            self.make(numbers(64, 48), numbers(6)).step(step)
            os.write(theirs, w.tobytes())
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        forked = numpy.frombuffer(os.read(ours, w.nbytes), numpy.float32).reshape(64, 48)
        os.close(ours), os.close(theirs)
        optimizer.step(step)
        self.assertTrue(numpy.array_equal(forked, w))

    def test_an_observer_that_uses_the_optimizer(self):
        w, gradient, saved = numpy.ones(3, numpy.float32), numpy.ones(3, numpy.float32), []
        optimizer = mousse.numpy.Optimizer({"w": w}, "sgd", lr=0.5, mu=0, weight_decay=0)
        optimizer.observe(lambda *_: saved.append((optimizer.save(), float(w[0]))))
        optimizer.step({"w": gradient})
        self.assertEqual({one for _, one in saved}, {0.5})
        self.assertEqual(saved[0][0], optimizer.save())
        optimizer.observe(lambda *_: optimizer.step({"w": gradient}))
        with self.assertRaisesRegex(mousse.InvalidArgument, "an observer cannot take a step"):
            optimizer.step({"w": gradient})
        copy.deepcopy(optimizer).step({"w": gradient})
        self.assertEqual(optimizer.steps, 2)

    def test_a_program_that_ends_during_a_step(self):
        """Of a daemon thread: it is not pulled from under it."""
        code = """if True:
            import mousse.numpy, numpy, threading
            w = numpy.ones((400, 400), numpy.float32)
            optimizer, gradient, begun = mousse.numpy.Optimizer({"w": w}, "muon"), w.copy(), threading.Event()

            def work():
                while True:
                    optimizer.step({"w": gradient})
                    begun.set()
            threading.Thread(target=work, daemon=True).start()
            begun.wait()"""
        for _ in range(3):
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
            self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_options_and_state(self):
        w, b = numbers(8, 6), numbers(6)
        optimizer = self.make(w, b)
        optimizer.set("lr", 0.0)
        optimizer.set("weight_decay", 0.0)
        optimizer.step({"w": numbers(8, 6, seed=2)})
        self.assertTrue(numpy.array_equal(w, numbers(8, 6)))
        self.assertTrue(numpy.allclose(optimizer.arrays("w")["momentum"].reshape(8, 6), numbers(8, 6, seed=2)))


if __name__ == "__main__":
    unittest.main()
