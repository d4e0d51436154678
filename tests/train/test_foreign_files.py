"""Files that are not a run's own stay as they were; files and limits that a run cannot work with are named.

    test_foreign_files.py PROGRAM
"""
import json
import os
import resource
import shutil
import unittest

from train_test import STEPS, TrainTest, contents


class ForeignFiles(TrainTest):
    def test_directories_of_others_are_refused(self):
        mine = self.lab.folder / "mine"
        mine.mkdir()
        for name in ("config.yaml", "metrics.jsonl", "notes.txt", "lock"):
            (mine / name).write_text("my: precious file\n")
            before = contents(mine)
            said = self.failure(2, *self.lab.command(mine, "mousse", 2))
            self.assertIn("is not a run of mousse", said)
            self.assertEqual(contents(mine), before)
            (mine / name).unlink()
        for folder in ("", "best", "step-0000000004"):  # an empty lock beside it: almost a run of 0.1
            (mine / "checkpoints" / folder).mkdir(parents=True, exist_ok=True)
            (mine / "lock").write_text("")
            (mine / "metrics.jsonl").write_text("my: precious file\n")
            before = contents(mine)
            self.assertIn("is not a run of mousse", self.failure(2, *self.lab.command(mine, "mousse", 2)))
            self.assertEqual(contents(mine), before)
        shutil.rmtree(mine)
        mine.mkdir()
        self.lab.train(mine, "mousse", 2)  # empty: free to take
        home = self.lab.folder / "home"
        home.mkdir()
        for place in ("/", home):
            said = self.failure(2, *self.lab.command(place, "mousse", 2),
                                env={**os.environ, "HOME": str(home)})
            self.assertIn("cannot be a run", said)
        self.assertEqual(list(home.iterdir()), [])

    def test_links_in_a_run_are_not_followed(self):
        out, mine = self.copy("links"), self.lab.folder / "thesis"
        mine.mkdir()
        for name in ("model.safetensors", "config.json", "tokenizer.json", "thesis.txt"):
            (mine / name).write_text("years of work")
        before = contents(mine)
        (out / "checkpoints" / ".step-0000000001.leaving").symlink_to(mine)
        for name in ("metrics.jsonl", "log.txt"):
            (out / name).unlink()
            (out / name).symlink_to(mine / "thesis.txt")
        self.lab.train(out, "mousse", STEPS + 3)
        self.assertEqual(contents(mine), before)

    def test_a_fifo_does_not_hang(self):
        out = self.copy("fifo")
        (out / "metrics.jsonl").unlink()
        os.mkfifo(out / "metrics.jsonl")
        self.lab.call("train", "--out", out, "--num-iterations", STEPS + 1, timeout=60)
        weights = out / "checkpoints" / f"step-{STEPS:010d}" / "model.safetensors"
        weights.unlink()
        weights.symlink_to("/dev/zero")
        self.assertIn("not a regular file",
                      self.failure(1, "checkpoint", "verify", out, timeout=60))

    def test_a_manifest_names_the_fixed_files(self):
        out = self.copy("manifest")
        folder = out / "checkpoints" / f"step-{STEPS:010d}"
        (folder / "optimizer.bin").unlink()
        (folder / "manifest.json").write_text(json.dumps(
            {"format": "mousse-checkpoint", "version": 1, "step": STEPS, "files": {}}, indent=1))
        self.assertIn("does not name", self.failure(3, "checkpoint", "verify", out))
        self.assertIn("continues at step 3", self.lab.train(out, "mousse", STEPS).stderr)

    def test_the_step_is_that_of_the_folder(self):
        out = self.copy("step")
        shutil.rmtree(out / "checkpoints" / f"step-{STEPS:010d}")
        folder = out / "checkpoints" / "step-0000000003"
        state = json.loads((folder / "trainer.json").read_text())
        (folder / "trainer.json").write_text(json.dumps({**state, "step": 2}))
        self.seal(folder)
        self.assertIn("is of step 2, expected 3",
                      self.failure(3, *self.lab.command(out, "mousse", STEPS)))

    def test_a_large_configuration_beside_small_weights(self):
        index = json.dumps({"weight_map": {"a": "part.safetensors"}}).encode()
        self.refuse_large("bomb", {"model.safetensors": b"0123456789"})
        self.refuse_large("bombs", {"part.safetensors": b"0123456789",
                                    "model.safetensors.index.json": index})

    def refuse_large(self, name, files):
        folder = self.lab.folder / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(
            {"vocab_size": 50304, "n_layer": 24, "n_head": 16, "n_embd": 2048,
             "sequence_len": 1024}))
        for file, data in files.items():
            (folder / file).write_bytes(data)
        for words in (("eval", "--data-dir", self.lab.data), ("generate",),
                      ("train", "--data-dir", self.lab.data, "--out", self.lab.folder / "b")):
            limit = 1 << 30

            def small():
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

            said = self.failure(3, *words, "--init", folder, preexec_fn=small)
            self.assertIn("too few for the", said)

    def test_a_limit_on_memory_is_told(self):
        """However little it is: OpenBLAS waits forever for its buffers, so it is not asked where there is no room."""
        told, megabytes, done = set(), 80, 0
        while done < 3:
            out = self.lab.folder / f"memory-{megabytes}"
            limit = megabytes << 20
            run = self.lab.call(*self.lab.command(out, "mousse", 1), check=False, timeout=60,
                                env=dict(os.environ, OPENBLAS_NUM_THREADS="1"),
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertIn(run.returncode, (0, 1, 127), run.stderr)  # 127: not even its libraries fit
            told.add("the BLAS" in run.stderr)
            done += run.returncode == 0
            megabytes += 4
            self.assertLess(megabytes, 2000)
        self.assertIn(True, told)

    def test_a_limit_on_memory_is_told_whoever_took_the_rest(self):
        """Between the question for the BLAS library's buffers and the first product nothing large may be taken."""
        for megabytes in range(150, 400, 12):
            limit = megabytes << 20
            words = self.lab.command(self.lab.folder / "memory-wide", "mousse", 1, "--model-dim", 256)
            run = self.lab.call(*words, check=False, timeout=60, env=dict(os.environ, OPENBLAS_NUM_THREADS="1"),
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertIn(run.returncode, (0, 1, 127), run.stderr)  # 127: not even its libraries fit

    def test_a_limit_on_file_sizes_is_told(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        out = self.lab.folder / "limited"
        said = self.failure(1, *self.lab.command(out, "mousse", 2), preexec_fn=small)
        self.assertIn("File too large", said)
        for words in (("checkpoint", "list", out), ("generate", "--init", out)):
            self.assertIn("limited: is a run of which no checkpoint was ever saved; see its log.txt",
                          self.failure(1, *words))
        screen = self.lab.call("watch", out, "--terminal").stdout
        self.assertIn(" failed ", screen)
        self.assertNotIn("complete", screen)


unittest.main()
