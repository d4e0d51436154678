"""mousse tune: a search within a time, its configuration, and what a kill leaves."""
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))
from program import MOUSSE, ProgramTest  # noqa: E402

MODEL = ("--preset nano --model-dim 32 --n-layer 1 --n-head 2 --sequence-length 32 --batch-size 4 --data-dir data "
         "--val-tokens 1024").split()


class Tune(ProgramTest):
    timeout = 300

    def setUp(self):
        super().setUp()
        self.make_data()

    def tune(self, out, *more):
        return ["tune", *MODEL, "--out", out, "--num-iterations", "40", "--optimizer", "muon", "--minutes", "20", *more]

    def losses(self, directory):
        rows = json.loads(self.read(f"{directory}/results.json"))["figures"][0]["tables"][0]["rows"]
        return [row[:4] for row in rows]

    def test_it_finds_something_better_and_that_trains(self):
        told = self.output(*self.tune("t", "--lr", "0.0005")).decode()
        rows = self.losses("t")
        self.assertEqual(len(rows), 12 + 2 * 2)  # the time is enough for all
        start = [row[3] for row in rows if row[:3] == [0.0005, rows[0][1], ""] or row[0] == 0.0005]
        self.assertLess(rows[0][3], min(start) - 0.1)  # such a small learning rate is far from the best
        self.assertGreater(rows[0][0], 0.0005)
        self.assertIn("best of 16 trials of 40 steps", told)
        self.run_mousse("train", "--config", "t/best.yaml", "--out", "best", "--quiet")
        lines = [json.loads(line) for line in self.read("best/metrics.jsonl").splitlines()]
        final = [line["val_loss"] for line in lines if "val_loss" in line][-1]
        self.assertAlmostEqual(final, rows[0][3], 6)  # as long as the trials: the same run

    def test_it_may_begin_where_it_diverges(self):
        told = self.output(*self.tune("t", "--lr", "3")).decode()
        finding = json.loads(self.read("t/results.json"))["figures"][0]["finding"]
        for text in (told, finding):
            self.assertIn("where the search began it diverged", text)
            self.assertNotIn("inf ", text)

    def test_killed_and_started_again_it_gives_the_same(self):
        self.run_mousse(*self.tune("whole"), "--quiet")
        for delay in (0.3, 0.9):
            process = subprocess.Popen([MOUSSE, *self.tune("killed"), "--quiet"], cwd=self.folder)
            time.sleep(delay)
            process.kill()
            process.wait()
        self.run_mousse(*self.tune("killed"), "--quiet")
        self.assertEqual(self.losses("killed"), self.losses("whole"))
        self.assertEqual(self.read("killed/best.yaml"), self.read("whole/best.yaml"))

    def factors(self, directory, option, detail):
        """What the trials of a detail that went up and down have for an option."""
        folder = os.path.join(self.folder, directory, "runs")
        found = {}
        for name in os.listdir(folder):
            if f",{detail}=" in name:
                text = self.read(f"{directory}/runs/{name}/run.yaml").decode()
                found[name.rsplit(f",{detail}=")[1].split(",")[0]] = float(text.split(f"{option}: ")[1].split()[0])
        return found["0.5"], found["2"]

    def test_rates_of_embedding_and_head_start_from_what_the_run_has(self):
        small = "tune --preset nano --sequence-length 32 --batch-size 2 --data-dir data --val-tokens 256 --num-iterations 10 " \
                "--optimizer muon --minutes 20 --quiet --out".split()
        self.run_mousse(*small, "preset")  # its width is the preset's, 128
        self.assertEqual(self.factors("preset", "head_lr_factor", "head"), (0.5, 2))
        low, high = self.factors("preset", "embed_lr_factor", "embed")
        self.assertAlmostEqual(low, 128**0.5, 3)
        self.assertAlmostEqual(high, 4 * 128**0.5, 3)
        self.run_mousse(*small, "lion", "--scalar-opt", "lion")
        low, high = self.factors("lion", "head_lr_factor", "head")
        self.assertAlmostEqual(low, 0.5 / 128**0.5, 6)
        self.assertAlmostEqual(high, 2 / 128**0.5, 6)
        self.run_mousse(*small, "given", "--head-lr-factor", "0.2", "--embed-lr-factor", "3")
        self.assertEqual(self.factors("given", "head_lr_factor", "head"), (0.1, 0.4))
        self.assertEqual(self.factors("given", "embed_lr_factor", "embed"), (1.5, 6))

    def test_what_is_given_as_an_option_of_the_optimizer_is_searched_too(self):
        self.run_mousse(*self.tune("t", "--opt.lr", "0.01", "--opt.mu", "0.5"), "--quiet")
        names = [name for name in os.listdir(self.path("t/runs")) if name.startswith("lr=")]
        self.assertTrue(any(name.startswith("lr=0.01,mu=0.5") for name in names), names)  # where it began
        for name in names:
            text = self.read(f"t/runs/{name}/run.yaml").decode()
            self.assertEqual(float(text.split("\nlr: ")[1].split()[0].strip('"')), float(name[3:].split(",")[0]))
            self.assertNotIn("opt.lr", text)
            self.assertNotIn("opt.mu", text)

    def test_trials_are_as_long_as_the_time_allows(self):
        words = ["tune", *MODEL, "--num-iterations", "1000000", "--optimizer", "adamw"]
        self.run_mousse(*words, "--out", "short", "--minutes", "0.25", "--quiet")
        steps = int(self.read("short/trials.yaml").split()[1])
        self.assertLess(steps, 100000)
        best = self.read("short/best.yaml").decode()
        self.assertIn("num_iterations: 1000000", best)
        self.assertIn("too short", self.failure(2, *words, "--batch-size", "4096", "--out", "no", "--minutes", "0.05"))

    def test_mistakes_are_told_before_anything_is_made(self):
        for status, words in ((2, ("--optimizer", "muom")), (1, ("--data-dir", "elsewhere")), (2, ("--opt.grft", "1"))):
            said = self.failure(status, "tune", "--data-dir", "data", *words)
            self.assertNotIn("runs", said)
        self.assertIn("no data: give --data-dir", self.failure(2, "tune"))
        os.mkdir(self.path("unscored"))
        for name in os.listdir(self.path("data")):
            if "_val_" not in name:
                os.link(self.path(f"data/{name}"), self.path(f"unscored/{name}"))
        for words in (("tune",), ("reproduce", "sides", "--scale", "smoke", "--out", "tune")):
            self.assertIn("unscored: has no validation shards, and mousse", self.failure(2, *words, "--data-dir", "unscored"))
        self.assertIn(b"directory of the search (default: tune/OPTIMIZER-PRESET)",
                      b" ".join(self.output("tune", "--help").split()))
        self.assertFalse(os.path.exists(self.path("tune")))

    def test_a_directory_of_others_is_refused(self):
        os.mkdir(self.path("mine"))
        self.write("mine/results.json", b"mine")
        for words in (self.tune("mine"), ["reproduce", "sides", "--scale", "smoke", "--out", "mine"]):
            self.assertIn("mine: has files in it and is not a study of mousse; nothing was changed",
                          self.failure(2, *words))
        self.assertEqual((os.listdir(self.path("mine")), self.read("mine/results.json")), (["results.json"], b"mine"))

    def test_the_length_of_trials_is_read_with_care(self):
        for number, text in enumerate(("steps: 99999999999999999999", "steps: -1", "stages: 4")):
            os.makedirs(os.path.join(self.folder, f"t{number}", "runs"))
            self.write(f"t{number}/runs/lock", b"")
            with open(os.path.join(self.folder, f"t{number}", "trials.yaml"), "w") as file:
                file.write(text)
            self.assertIn("'steps: N' is expected, at most the 40 steps", self.failure(3, *self.tune(f"t{number}")))


if __name__ == "__main__":
    unittest.main()
