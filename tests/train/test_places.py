"""Paths that a run keeps, when it is looked at from another folder, moved, or named in other words.

    test_places.py PROGRAM
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "cli"))
from program import MOUSSE, ProgramTest  # noqa: E402

SMALL = ("--preset", "nano", "--model-dim", "16", "--n-layer", "1", "--n-head", "2", "--sequence-length", "16",
         "--batch-size", "2", "--num-iterations", "2", "--checkpoint-freq", "1", "--threads", "1", "--quiet")


class Places(ProgramTest):
    """The project is in `project`, and every command runs in one of its folders."""

    def setUp(self):
        super().setUp()
        self.top = self.folder
        self.stand("project")
        self.make_data()
        self.run_mousse("train", "--data-dir", "data", "--out", "runs/base", *SMALL)

    def stand(self, *names):
        self.folder = os.path.join(self.top, *names)
        os.makedirs(self.folder, exist_ok=True)

    def tearDown(self):
        self.folder = self.top  # which is removed

    def more(self, steps, *words):
        return self.run_mousse("train", "--num-iterations", str(steps), *words).stderr.decode()

    def kept(self, run):
        lines = self.read(os.path.join(run, "config.yaml")).decode().splitlines()
        return {key: value.strip('"') for key, value in (line.split(": ", 1) for line in lines)}

    def fine_tune(self, out):
        self.run_mousse("train", "--init", "runs/base@best", "--data-dir", "data:2,other", "--out", out,
                        "--num-iterations", "2", "--batch-size", "2", "--threads", "1", "--quiet")

    def test_a_run_continues_from_other_folders(self):
        shutil.copytree(self.path("data"), self.path("other"))
        self.fine_tune("runs/fine")
        self.stand()
        self.more(3, "--out", "project/runs/fine")
        kept = self.kept("project/runs/fine")
        self.assertEqual(kept["data_dir"], "project/data:2,project/other")
        self.assertEqual(kept["init"], "project/runs/base@best")
        same = ("--init", "project/runs/base@best", "--data-dir", "project/data:2,project/other")
        self.more(4, "--out", "project/runs/fine", *same)
        self.run_mousse("eval", "--init", "project/runs/fine")
        for other in ("project/runs/base", "project/runs/base@1"):
            self.assertIn(f"did not begin with --init {other}",
                          self.failure(2, "train", "--out", "project/runs/fine", "--init", other))
        self.stand("project", "runs", "fine")
        self.more(5, "--out", ".")
        self.stand("project")
        self.more(6, "--out", "runs/fine", "--init", "./runs//base/@best")

    def test_a_project_that_is_moved_or_copied_has_its_own_data(self):
        self.stand()
        shutil.copytree(self.path("project"), self.path("copy"))
        shutil.rmtree(self.path("project"))
        self.more(3, "--out", "copy/runs/base")
        self.assertEqual(self.kept("copy/runs/base")["data_dir"], "copy/data")
        self.stand("copy")
        os.rename(self.path("runs/base"), self.path("elsewhere"))  # of which `out` says nothing
        self.more(4, "--out", "elsewhere", "--data-dir", "data")

    def test_weights_are_told_by_their_name_where_out_does_not_tell_the_folder(self):
        os.mkdir(self.path("other"))
        shutil.copytree(self.path("data"), self.path("other"), dirs_exist_ok=True)
        out = os.path.join(self.top, "far", "fine")
        self.fine_tune(out)
        self.stand()
        data = ("--data-dir", "project/data:2,project/other")
        self.more(3, "--out", out, "--init", os.path.join(self.top, "project/runs/base@best"), *data)
        shutil.copytree(self.path("project/runs/base"), self.path("project/base"))
        self.assertIn("did not begin with", self.failure(2, "train", "--out", out, "--init", "project/base@best"))

    def test_the_default_folder_is_that_of_the_same_data(self):
        shutil.rmtree(self.path("runs"))
        for data in ("data", "data/", "./data", os.path.join(self.top, "project", "data")):
            self.run_mousse("train", "--data-dir", data, *SMALL)
        self.assertEqual(os.listdir(self.path("runs")), ["muon-nano"])

    def while_training(self, act):
        """Starts a run, acts on its directory once it has a checkpoint, and returns how it ended."""
        words = [MOUSSE, "train", "--data-dir", "data", "--out", "runs/live", *SMALL[:-1], "--num-iterations", "12000",
                 "--checkpoint-freq", "3000", "--val-loss-every", "0"]
        process = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        checkpoints = self.path("runs/live/checkpoints")
        while not os.path.isdir(checkpoints) or not any(name.startswith("step-") for name in os.listdir(checkpoints)):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        act()
        told = process.communicate()[1]
        return process.returncode, told

    def test_a_run_goes_on_where_it_was_moved(self):
        status, told = self.while_training(lambda: os.rename(self.path("runs/live"), self.path("moved")))
        self.assertEqual(status, 0, told)
        self.assertIn(f"runs/live was moved to {os.path.join(os.path.realpath(self.folder), 'moved')}; the run goes on there",
                      told)
        self.assertFalse(os.path.exists(self.path("runs/live")))
        self.more(12001, "--out", "moved", "--data-dir", "data")

    def test_a_run_that_was_removed_is_not_made_anew(self):
        status, told = self.while_training(lambda: shutil.rmtree(self.path("runs/live")))
        self.assertEqual(status, 1, told)
        self.assertIn("runs/live: the directory was removed while it was in use", told)
        self.assertFalse(os.path.exists(self.path("runs/live")))

    def test_a_branch_finds_the_data_of_its_run(self):
        self.stand()
        self.run_mousse("checkpoint", "branch", "project/runs/base@1", "--out", "branch")
        self.more(3, "--out", "branch")
        self.assertEqual(self.kept("branch")["data_dir"], "project/data")

    def test_a_sweep_goes_on_from_another_folder(self):
        words = ("--lr", "0.01,0.02", *SMALL, "--jobs", "1")
        self.run_mousse("sweep", "--out", "sweeps/lr", "--data-dir", "data", *words)
        shutil.copytree(self.path("data"), self.path("same"))
        self.stand()
        again = ("sweep", "--out", "project/sweeps/lr", *words, "--dry-run", "--data-dir")
        self.assertEqual(self.output(*again, "project/data").count(b"complete"), 2)
        self.assertIn("was made with data_dir", self.failure(2, *again, "project/same"))
        self.stand("project")
        begun = ("sweep", "--init", "runs/base", "--lr", "0.01,0.02", "--data-dir", "data", "--num-iterations", "1",
                 "--out", "sweeps/fine")
        self.run_mousse(*begun, "--jobs", "1", "--quiet")
        for init in ("./runs/base", "runs/base/", os.path.join(self.top, "project", "runs", "base")):
            self.assertEqual(self.output(*begun, "--init", init, "--dry-run").count(b"complete"), 2)
        self.assertIn("was made with init", self.failure(2, *begun, "--init", "runs/base@best"))


if __name__ == "__main__":
    unittest.main()
