"""mousse sweep: combinations, divergence, and what a kill leaves."""
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))
from program import MOUSSE, ProgramTest  # noqa: E402

BASE = """
preset: nano
model_dim: 32
n_layer: 1
n_head: 2
sequence_length: 32
batch_size: 4
data_dir: data
num_iterations: 30
checkpoint_freq: 5
val_tokens: 1024
"""


class Sweep(ProgramTest):
    timeout = 300

    def setUp(self):
        super().setUp()
        self.make_data()

    def sweep_file(self, more):
        return self.write("grid.yaml", (BASE + more).encode()).replace("\\", "/")

    def results(self, directory):
        """What every run computed: the losses, without the times."""
        found = {}
        for path in sorted(glob.glob(self.path(directory) + "/*/metrics.jsonl")):
            lines = [json.loads(line) for line in open(path)]
            for line in lines:
                line.pop("seconds", None)
                line.pop("memory", None)
            found[os.path.basename(os.path.dirname(path))] = lines
        return found

    def test_every_combination_is_run_once(self):
        self.sweep_file("optimizer: [mousse, muon]\nlr: [0.01, 0.02]\nopt: {mu: 0.9}\n")
        table = self.output("sweep", "grid.yaml", "--seed", "1,2").decode()
        names = [f"optimizer={o},lr={lr},seed={s}" for o in ("mousse", "muon") for lr in (0.01, 0.02) for s in (1, 2)]
        self.assertEqual(sorted(self.results("sweeps/grid")), sorted(names))
        for name in names:
            self.assertIn(name, table)
        for path in glob.glob(self.path("sweeps/grid/*/result.json")):
            result = json.loads(self.read(path))
            self.assertEqual(result["status"], "complete")
            self.assertEqual(result["steps"], 30)
            self.assertGreater(result["peak_bytes"], 1e6)

    def test_files_whose_names_have_dots(self):
        for name in ("lr-0.1.yaml", "lr-0.2.yaml", "plain"):
            self.write(name, (BASE + "lr: [0.1, 0.2]\n").encode())
            self.output("sweep", name, "--num-iterations", "1")
        self.assertEqual(sorted(os.listdir(self.path("sweeps"))), ["lr-0.1", "lr-0.2", "plain"])

    def test_a_setting_that_is_written_in_two_ways_is_one_seed(self):
        self.sweep_file("lr: [0.1, 0.10, 1e-1, 0.2]\nseed: 1\nval_loss_every: 1\n")
        self.output("sweep", "grid.yaml", "--num-iterations", "1")
        told = self.output("report", "sweeps/grid", "--text").decode()
        said = " ".join(told.split())
        self.assertIn("2 of 4 runs (such as lr=0.10) have the options and the seed of another one: means, spreads and "
                      "curves leave them out.", said)
        self.assertNotIn("±", said.split("Best learning rate of each")[0])
        self.assertNotIn("after 1 steps", said)

    def test_a_sweep_that_was_killed_ends_as_if_it_had_not(self):
        self.sweep_file("optimizer: [mousse, muon, adamw]\nlr: [0.01, 0.02]\n")
        words = ["sweep", "grid.yaml", "--jobs", "2", "--quiet"]
        self.run_mousse(*words, "--out", "whole")
        finished = {}
        for delay in (0.15, 0.3, 0.5, 0.8):
            process = subprocess.Popen([MOUSSE, *words, "--out", "killed"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            for path in glob.glob(self.path("killed/*/result.json")):
                inode = (os.stat(path).st_ino, os.stat(path).st_mtime_ns)
                self.assertEqual(finished.setdefault(path, inode), inode, "a finished run was repeated")
        self.run_mousse(*words, "--out", "killed")
        for path, inode in finished.items():
            self.assertEqual((os.stat(path).st_ino, os.stat(path).st_mtime_ns), inode)
        self.assertEqual(self.results("killed"), self.results("whole"))

    def test_a_request_to_stop_saves_and_continues(self):
        self.sweep_file("lr: [0.01, 0.02]\n")
        words = ["sweep", "grid.yaml", "--num-iterations", "3000", "--out", "s"]
        process = subprocess.Popen([MOUSSE, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        while not any(b'"loss"' in self.read(path) for path in glob.glob(self.path("s/*/metrics.jsonl"))):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertIn("the same command continues", said)
        self.assertTrue(glob.glob(self.path("s/*/checkpoints/step-*")))
        shown = self.output("sweep", "grid.yaml", "--num-iterations", "3000", "--out", "s", "--dry-run").decode()
        self.assertRegex(shown, r"stopped +[1-9][0-9,]* of 3,000")
        self.assertNotRegex(shown + said, "[1-9][0-9]* failed|failed +[0-9,]+ of")
        self.assertIn("stopped  ", said)

    def test_a_killed_sweep_continues_whatever_its_file_says(self):
        self.sweep_file("resume: false\n")
        words = ["sweep", "grid.yaml", "--num-iterations", "300", "--out", "s", "--quiet"]
        process = subprocess.Popen([MOUSSE, *words], cwd=self.folder)
        while not glob.glob(self.path("s/run/checkpoints/step-*")):
            time.sleep(0.02)
        process.kill()
        process.wait()
        self.run_mousse(*words)
        self.assertEqual(json.loads(self.read("s/run/result.json"))["status"], "complete")

    def test_threads_that_are_given_are_taken(self):
        self.sweep_file("threads: [0, 1, 3]\n")
        self.run_mousse("sweep", "grid.yaml", "--num-iterations", "1", "--jobs", "1024", "--out", "s", "--quiet")
        for given, taken in ((0, 1), (1, 1), (3, 3)):
            self.assertIn(f"\nthreads: {taken}\n", self.read(f"s/threads={given}/run.yaml").decode())

    def test_a_diverged_run_is_given_up(self):
        self.sweep_file("lr: [0.02, 20]\n")
        self.run_mousse("sweep", "grid.yaml", "--num-iterations", "200", "--quiet")
        states = {name: json.load(open(self.path(f"sweeps/grid/lr={name}/result.json"))) for name in ("0.02", "20")}
        self.assertEqual(states["0.02"]["status"], "complete")
        self.assertEqual(states["20"]["status"], "diverged")

    def test_a_diverged_run_goes_on_where_that_is_asked_for(self):
        self.sweep_file("lr: [20]\n")
        words = ["sweep", "grid.yaml", "--num-iterations", "60", "--no-stop-diverged"]
        process = subprocess.Popen([MOUSSE, *words, "--quiet"], cwd=self.folder)
        metrics = self.path("sweeps/grid/run/metrics.jsonl")
        while not os.path.exists(metrics) or self.read(metrics).count(b'"lr"') < 12:
            time.sleep(0.02)
        process.terminate()  # after it has diverged: it has not ended by that
        process.wait()
        self.assertFalse(os.path.exists(self.path("sweeps/grid/run/result.json")) and
                         json.loads(self.read("sweeps/grid/run/result.json"))["status"] == "diverged")
        self.run_mousse(*words, "--quiet")
        result = json.loads(self.read("sweeps/grid/run/result.json"))
        self.assertEqual((result["status"], result["steps"]), ("complete", 60))
        self.assertRegex(self.output(*words, "--dry-run").decode(), r"complete +60 of 60 +[0-9.]+")

    def test_a_random_search_is_the_same_each_time(self):
        self.sweep_file("optimizer: [mousse, muon]\nlr: log 0.001 0.1\n")
        first = self.output("sweep", "grid.yaml", "--random", "5", "--dry-run")
        self.assertEqual(first, self.output("sweep", "grid.yaml", "--random", "5", "--dry-run"))
        other = self.output("sweep", "grid.yaml", "--random", "5", "--random-seed", "2", "--dry-run")
        self.assertNotEqual(first, other)
        self.assertEqual(first.count(b"waiting"), 5)

    def test_mistakes_are_told_before_the_first_run(self):
        self.sweep_file("lr: [0.01, 0.02]\n")
        self.assertIn("did you mean 'seed'", self.failure(2, "sweep", "grid.yaml", "--seeed", "1,2"))
        self.assertIn("lr", self.failure(2, "sweep", "grid.yaml", "--lr", "0.01,fast"))
        self.assertIn("--out", self.failure(2, "sweep", "--lr", "0.01"))
        self.write("bad.yaml", b"lr: [0.1\n")
        self.assertIn("bad.yaml: line", self.failure(2, "sweep", "bad.yaml"))
        self.write("deep.yaml", b"opt: {a: {b: {c: 1}}}\n")
        self.assertIn("deep.yaml: line 1", self.failure(2, "sweep", "deep.yaml"))
        self.assertIn("no data: give --data-dir", self.failure(2, "sweep", "--lr", "0.01", "--out", "sweeps/none"))
        self.assertIn("elsewhere: there is no such data", self.failure(1, "sweep", "grid.yaml", "--data-dir", "elsewhere"))
        self.assertFalse(os.path.exists(self.path("sweeps")))

    def test_switches_are_those_of_train(self):
        """With and without values, wherever they stand; and a list of both is two runs."""
        self.sweep_file("")
        for words, runs in ((["--shuffle"], 1), (["--shuffle", "--seed", "1,2"], 2), (["--no-shuffle"], 1),
                            (["--shuffle", "true"], 1), (["--shuffle", "true,false"], 2), (["--shuffle=on,off"], 2),
                            (["--tensorboard"], 1)):
            for order in (words + ["--dry-run"], ["--dry-run"] + words):
                with self.subTest(order):
                    shown = self.output("sweep", "grid.yaml", "--out", "s", *order).decode()
                    self.assertEqual(shown.count("waiting"), runs)
        self.run_mousse("sweep", "grid.yaml", "--out", "s", "--num-iterations", "2", "--shuffle", "--quiet")
        self.assertIn(b"shuffle: true", self.read("s/run/run.yaml"))
        self.run_mousse("train", "--config", "grid.yaml", "--num-iterations", "2", "--out", "t", "--quiet", "--shuffle", "true")
        self.assertIn(b"shuffle: true", self.read("t/config.yaml"))

    def test_other_options_in_the_same_place_are_refused(self):
        self.sweep_file("lr: [0.01]\n")
        self.run_mousse("sweep", "grid.yaml", "--quiet")
        said = self.failure(2, "sweep", "grid.yaml", "--batch-size", "2")
        self.assertIn("batch_size: 4, not 2", said)

    def test_other_data_in_the_same_place_are_refused(self):
        self.sweep_file("")
        words = ["sweep", "grid.yaml", "--num-iterations", "2", "--out", "s", "--quiet"]
        self.run_mousse(*words)
        shards = glob.glob(self.path("data/*_train_*.bin")) + glob.glob(self.path("data/*_val_*.bin"))
        for path, what in zip(shards, ("training", "validation")):
            before = self.read(path)
            self.write(path, before[:1100] + bytes([before[1100] ^ 1]) + before[1101:])
            said = self.failure(2, *words)
            self.assertRegex(said, f"s/run was made with other {what} data: their checksum is [0-9a-f]+, that of data is")
            self.assertIn("put the data back, or choose another directory", said)
            self.write(path, before)
        self.run_mousse(*words)

    def test_a_failed_run_does_not_stop_the_others(self):
        self.sweep_file("seed: [1, 2]\n")
        self.run_mousse("sweep", "grid.yaml", "--out", "s", "--dry-run")
        os.makedirs(self.path("s/seed=1"))
        self.write("s/seed=1/lock", b"mousse run\n")  # a run of ours, with a file in its way
        self.write("s/seed=1/checkpoints", b"in the way")
        said = self.failure(1, "sweep", "grid.yaml", "--out", "s", "--quiet")
        self.assertIn("1 of 2 runs failed", said)
        self.assertTrue(os.path.exists(self.path("s/seed=2/result.json")))
        os.remove(self.path("s/seed=1/checkpoints"))
        self.run_mousse("sweep", "grid.yaml", "--out", "s", "--quiet")


if __name__ == "__main__":
    unittest.main()
