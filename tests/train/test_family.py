"""Optimizers that ask for more than the gradient, and what goes around all optimizers: the same bits
at any number of threads, and after any interruption; and what is written is what is meant.

    test_family.py PROGRAM
"""
import array
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness

STEPS = 6
RUNS = {
    "kfac": ("kfac", "--covariance-tokens", "24"),
    "newtonmuon": ("newtonmuon", "--opt.refresh_every", "2"),
    "limuon": ("limuon", "--opt.rank", "4"),
    "limuon, clipped": ("limuon", "--clip", "0.5"),
    "limuon for an embedding in blocks": ("muon", "--scalar-opt", "limuon", "--scalar.rank", "4", "--model-dim", "16"),
    "lookahead": ("muon", "--wrapper", "lookahead", "--lookahead-from", "2",
                  "--lookahead-until", "5"),
    "schedule_free": ("muon", "--wrapper", "schedule_free", "--scheduler-type", "constant", "--warmup-ratio", "0.5"),
    "tail average": ("muon", "--ema", "0.5", "--ema-from", "2", "--ema-weight", "0.6"),
    "average of lookahead": ("adamw", "--wrapper", "lookahead", "--ema", "0.75"),
    "the records' stack": ("soapmuon", "--opt.gate", "on", "--opt.radius", "brake_pin",
                           "--opt.floor", "row", "--opt.decay", "cautious", "--weight-decay",
                           "0.025", "--wrapper", "lookahead", "--ema", "0.5", "--ema-from", "3"),
}


def floats(path):
    """All values of a safetensors file of 32-bit floats."""
    data = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    values = array.array("f")
    values.frombytes(data[start:])
    return values


class Family(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mousse-family-")
        self.addCleanup(folder.cleanup)
        self.lab = harness.Lab(PROGRAM, folder.name)

    def run_of(self, name, *more):
        optimizer, *options = RUNS[name]
        out = self.lab.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        self.lab.train(out, optimizer, STEPS, *options, "--checkpoint-freq", 1, "--keep-last", 99,
                       *more)
        return out

    def weights(self, out, step, name="model.safetensors"):
        return floats(out / "checkpoints" / f"step-{step:010d}" / name)

    def test_threads_and_interruptions(self):
        for name, (optimizer, *options) in RUNS.items():
            out = self.run_of(name)
            whole = harness.digest(out, STEPS)
            for step in range(4, STEPS + 1):
                shutil.rmtree(out / "checkpoints" / f"step-{step:010d}")
            self.lab.call("train", "--out", out, "--quiet", "--threads", 2)
            self.assertEqual(harness.digest(out, STEPS), whole, name)
            harness.check_metrics(out, STEPS)
            self.assertEqual(harness.digest(self.run_of(name, "--threads", 3), STEPS), whole, name)

    def test_wrappers_do_something(self):
        """The weights come out otherwise than without them; an average leaves them alone."""
        plain = self.lab.folder / "plain"
        self.lab.train(plain, "muon", STEPS, "--scheduler-type", "constant", "--checkpoint-freq", 1)
        expected = self.weights(plain, STEPS)
        for name, same in (("lookahead", False), ("schedule_free", False), ("tail average", True)):
            out = self.run_of(name, "--scheduler-type", "constant")
            self.assertEqual(self.weights(out, STEPS) == expected, same, name)

    def test_tail_average(self):
        out = self.run_of("tail average")
        tail = None
        for step in range(1, STEPS + 1):
            weights = self.weights(out, step)
            tail = list(weights) if step <= 2 else [e + 0.5 * (w - e)
                                                    for e, w in zip(tail, weights)]
            shown = self.weights(out, step, "ema.safetensors")
            worst = max(abs(0.4 * w + 0.6 * e - s) for w, e, s in zip(weights, tail, shown))
            self.assertLess(worst, 1e-6)
        self.validated_is_shown(out)

    def test_look_ahead(self):
        """Gradients are taken elsewhere than at what is evaluated, in the steps that say so."""
        out = self.run_of("lookahead")
        for step in range(1, STEPS + 1):
            same = self.weights(out, step, "ema.safetensors") == self.weights(out, step)
            self.assertEqual(same, not 2 <= step < 5, step)
        self.validated_is_shown(out)

    def test_schedule_free(self):
        """x is the mean of all z, weighed by the square of the rate, which rises for 3 steps; y = (1 - b) z + b x."""
        out = self.run_of("schedule_free")
        x, total = None, 0
        for step in range(1, STEPS + 1):
            shown, y = self.weights(out, step, "ema.safetensors"), self.weights(out, step)
            z = [(b - 0.9 * a) / 0.1 for a, b in zip(shown, y)]
            weight = min(1, step / 3)**2
            total += weight
            if x is not None:
                mean = [a + (c - a) * weight / total for a, c in zip(x, z)]
                self.assertLess(max(abs(a - b) for a, b in zip(mean, shown)), 1e-5)
            x = list(shown)
        self.validated_is_shown(out)

    def validated_is_shown(self, out):
        logged = [json.loads(line)["val_loss"] for line in (out / "metrics.jsonl").read_text().splitlines()
                  if "val_loss" in line][-1]
        result = json.loads(self.lab.call("eval", "--init", out, "--json").stdout)
        self.assertAlmostEqual(result["loss"], logged, places=5)

    def test_previous_weights(self):
        """A checkpoint has the weights of the step before."""
        out = self.run_of("limuon")
        for step in range(2, STEPS + 1):
            self.assertEqual(self.weights(out, step, "previous.safetensors"),
                             self.weights(out, step - 1))

    def test_what_is_refused(self):
        said = self.lab.train(self.lab.folder / "no", "muon", 2, "--scalar-opt", "kfac",
                              check=False)
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("only hidden matrices have", said.stderr)


PROGRAM = sys.argv.pop(1)
unittest.main()
