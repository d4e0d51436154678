"""What a run tells about itself is true.

    test_records.py PROGRAM
"""
import json
import math
import pathlib
import resource
import shutil
import struct
import tempfile
import unittest

import harness
from train_test import STEPS, TrainTest, contents


def options_of(run):
    lines = (pathlib.Path(run) / "config.yaml").read_text().splitlines()
    return {key: value.strip('"') for key, value in (line.split(": ", 1) for line in lines)}


def lines_of(run, name):
    return [json.loads(line) for line in (pathlib.Path(run) / name).open()]


class Records(TrainTest):
    # --- records -------------------------------------------------------------------------

    def test_a_complete_run_stays_as_it_is(self):
        before = contents(self.calm)
        for change in (("--lr", "0.5"), ("--seed", "9"), ("--num-iterations", "4"),
                       ("--opt.nesterov", "off")):
            said = self.failure(2, "train", "--out", self.calm, *change)
            self.assertIn("--num-iterations", said)
            self.assertIn("another --out", said)
        self.assertIn("already complete", self.lab.train(self.calm, "mousse", STEPS).stdout)
        self.assertEqual(contents(self.calm), before)

    def test_options_of_every_stretch_are_kept(self):
        out = self.copy("stretches")
        self.lab.call("train", "--out", out, "--lr", "0.01", "--num-iterations", "8", "--quiet")
        history = lines_of(out, "history.jsonl")
        self.assertEqual([entry["step"] for entry in history], [0, STEPS])
        self.assertEqual([entry["options"]["lr"] for entry in history], ["0.11", "0.01"])
        self.assertEqual(options_of(out)["lr"], "0.01")
        for key in ("time", "version", "commit", "command", "machine", "data"):
            self.assertTrue(history[0][key], key)
        self.assertIn("train", history[0]["command"])
        self.assertEqual(set(history[0]["data"]), {"directory", "train", "val", "tokenizer"})
        # The same command again after a crash: the stretch that was undone is told once.
        shutil.rmtree(out / "checkpoints" / "step-0000000008")
        self.lab.call("train", "--out", out, "--lr", "0.01", "--num-iterations", "8", "--quiet")
        self.assertEqual([entry["step"] for entry in lines_of(out, "history.jsonl")], [0, STEPS])

    def test_every_option_is_resolved(self):
        told = self.lab.call("train", "--data-dir", self.lab.data, "--preset", "nano", "--dry-run",
                             cwd=self.lab.folder).stdout
        self.assertIn("\nout: runs/muon-nano\n", told)
        self.assertNotIn("(default)", told)
        told = self.lab.call(*self.lab.command(self.lab.folder / "none"), "--dry-run").stdout
        dry = dict(line.split(": ", 1) for line in told.split("\n\n")[0].splitlines())
        for options in (options_of(self.calm), dry):
            self.assertEqual(options["lr"], "0.11")
            self.assertEqual(options["opt.nesterov"], "on")
            self.assertEqual(options["n_layer"], "2")
            self.assertEqual(options["vocab_size"], "256")
            self.assertEqual(options["slices"], "2")
            self.assertAlmostEqual(float(options["embed_lr_factor"]), 2 * 32 ** 0.5)
            self.assertEqual(options["head_lr_factor"], "1")
            self.assertEqual(options["scalar_opt"], "normuon")
            self.assertEqual(options["scalar.beta2"], "0.95")
            for name in ("mu", "weight_decay", "shampoo_beta", "shampoo_alpha", "adjust_lr"):
                self.assertTrue(options[name], name)
        paper = self.lab.call(*self.lab.command(self.lab.folder / "none"), "--recipe", "paper", "--dry-run").stdout
        for line in ("opt.nesterov: off", "mu: 0.95", "opt.refresh_long: 1"):
            self.assertIn(f"\n{line}\n", paper)

    def test_the_default_directory_joins_no_other_run(self):
        place = self.lab.folder / "defaults"
        place.mkdir()
        command = self.lab.command("unused", "adamw", 2)
        place_of_out = command.index("--out")
        del command[place_of_out:place_of_out + 2]
        for more in ((), ("--lr", "0.005"), (), ("--seed", "2")):
            self.lab.call(*command, *more, "--quiet", cwd=place)
        runs = sorted(path.name for path in (place / "runs").iterdir())
        self.assertEqual(runs, ["adamw-tiny", "adamw-tiny-2", "adamw-tiny-3"])
        self.assertEqual(options_of(place / "runs" / "adamw-tiny-2")["lr"], "0.005")
        # A value that was chosen by another version: a new run, and not in silence.
        for run in (place / "runs").iterdir():
            config = run / "config.yaml"
            config.write_text(config.read_text().replace('weight_decay: ', 'weight_decay: 0.5 #'))
        said = self.lab.call(*command, cwd=place).stderr
        self.assertIn("a new run, since weight_decay was '0.5' and is now '0", said)
        self.assertIn("'mousse train --out runs/adamw-tiny' continues the earlier one", said)
        self.assertTrue((place / "runs" / "adamw-tiny-4").is_dir())
        self.assertNotIn("a new run", self.lab.call(*command, cwd=place).stderr)

    def test_a_run_of_the_first_edition_continues(self):
        """Its trainer.json is version 1, its options are not resolved, and it has one slice."""
        out, calm = self.lab.folder / "old", self.lab.folder / "one-slice"
        for run in (calm, out):
            self.lab.train(run, "mousse", STEPS, "--slices", 1, "--scalar-opt", "lion")
        for step in harness.steps_of(out)[1:]:
            shutil.rmtree(out / "checkpoints" / f"step-{step:010d}")
        folder = out / "checkpoints" / "step-0000000003"
        state = json.loads((folder / "trainer.json").read_text())
        old = {key: state[key] for key in ("format", "step", "tokens", "skipped", "skipped_in_row",
                                           "data")}
        old["version"] = 1
        old["options"] = {key: value for key, value in state["options"].items()
                          if "." not in key and key not in ("preset", "ema")}
        old["options"].update(lr="", weight_decay="", mu="", adjust_lr="", head_lr_factor="0",
                              shampoo_update_freq="", shampoo_epsilon="", shampoo_alpha="",
                              shampoo_beta="", LR_correction="", shampoo_norm="", use_LorR="")
        old["options"]["opt.refresh_every"] = "5"
        old["options"]["shards"] = old["options"].pop("slices")
        (folder / "trainer.json").write_text(json.dumps(old))
        options = [line for line in (out / "config.yaml").read_text().splitlines()
                   if not line.startswith(("opt.", "scalar.", "lr", "mu", "shampoo", "adjust",
                                           "weight_d", "LR_", "use_", "head_", "model_dim",
                                           "slices"))]
        (out / "config.yaml").write_text("\n".join(options) + "\nmodel_dim: 32\nshards: 1\n"
                                         "opt.refresh_every: 5\n")
        (out / "history.jsonl").unlink()
        (out / "lock").write_text("")
        self.seal(folder)
        done = self.lab.call("train", "--out", out)
        self.assertIn("continues at step 3", done.stderr)
        self.assertNotIn(" was '", done.stderr)
        for name in ("model.safetensors", "optimizer.bin"):
            path = pathlib.Path("checkpoints") / f"step-{STEPS:010d}" / name
            self.assertEqual((out / path).read_bytes(), (calm / path).read_bytes(), name)

    def test_a_run_keeps_the_optimizer_of_its_embedding(self):
        """Whoever has not asked for one gets the run's, also where a new run would get another."""
        out = self.lab.folder / "kept"
        self.lab.train(out, "mousse", STEPS, "--scalar-opt", "lion")
        self.lab.train(out, "mousse", STEPS + 2)
        self.assertEqual(options_of(out)["scalar_opt"], "lion")
        self.assertIn("was started with scalar_opt 'lion', which cannot change to 'normuon'",
                      self.failure(2, *self.lab.command(out, "mousse", STEPS + 4), "--scalar-opt", "normuon"))

    def test_an_option_that_came_later_is_no_change(self):
        """A checkpoint from before the optimizers had these options, which are at their defaults now."""
        out = self.copy("earlier")
        folder = out / "checkpoints" / f"step-{STEPS:010d}"
        state = json.loads((folder / "trainer.json").read_text())
        config = (out / "config.yaml").read_text().splitlines()
        for key in ("opt.lr_peak", "opt.post", "scalar.beta2"):
            del state["options"][key]
            config = [line for line in config if not line.startswith(f"{key}:")]
        (folder / "trainer.json").write_text(json.dumps(state))
        (out / "config.yaml").write_text("\n".join(config) + "\n")
        self.seal(folder)
        done = self.lab.call("train", "--out", out)
        self.assertIn("already complete", done.stdout)
        self.assertNotIn("changed", done.stderr)
        self.assertIn("opt.nesterov was", self.failure(2, "train", "--out", out, "--opt.nesterov", "off"))

    def test_json_is_valid_whatever_the_numbers_are(self):
        broken = self.broken_weights()
        done = self.lab.call(*self.lab.command(self.lab.folder / "nan-run", "mousse", STEPS, "--init",
                                               broken, "--max-skipped", 3, "--json"), check=False)
        lines = [json.loads(line, parse_constant=lambda word: self.fail(word))
                 for line in done.stdout.splitlines()]
        self.assertIsNone(lines[0]["val_loss"])
        self.assertIn("tokens", lines[0])
        done = self.lab.call("eval", "--init", broken, "--data-dir", self.lab.data, "--json",
                             check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIsNone(json.loads(done.stdout, parse_constant=self.fail)["loss"])
        self.assertIn("not finite", done.stderr)
        self.assertIn("not finite", self.failure(1, "generate", "--init", broken, "--tokenizer",
                                                 self.lab.data))

    def broken_weights(self):
        return self.changed_weights(lambda data: data[:-4] + struct.pack("<f", float("nan")))

    def changed_weights(self, change):
        """A model folder whose weights are those of the calm run after a change of their bytes."""
        source = self.calm / "checkpoints" / f"step-{STEPS:010d}"
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.lab.folder))
        data = (source / "model.safetensors").read_bytes()
        start = 8 + struct.unpack("<Q", data[:8])[0]
        (folder / "model.safetensors").write_bytes(data[:start] + change(data[start:]))
        shutil.copy(source / "config.json", folder)
        return folder

    # --- comparable numbers ----------------------------------------------------------------

    def other_tokenizer(self):
        data = self.lab.folder / "other-data"
        if not data.exists():
            self.lab.call("tokenize", self.lab.folder / "text.txt", "--tokenizer", "train:280",
                          "--val-fraction", "0.1", "--out", data, "--quiet")
        return data

    def test_other_tokenizers_are_refused(self):
        """Ids of the one fit into the vocabulary of the other, so nothing else would notice."""
        model, data = self.lab.folder / "words", self.lab.data
        self.lab.train(model, "muon", 2, "--data-dir", self.other_tokenizer())
        tuned = self.lab.folder / "tuned"
        for words in (("eval", "--init", model, "--data-dir", data),
                      ("generate", "--init", model, "--tokenizer", data, "--tokens", "2"),
                      ("train", "--init", model, "--data-dir", data, "--out", tuned,
                       "--num-iterations", "1", "--batch-size", "2"),
                      ("train", "--out", model, "--data-dir", data, "--num-iterations", "9")):
            said = self.failure(2, *words)
            self.assertIn("--allow-other-tokenizer", said)
            self.assertIn("--tokenizer", said)
        done = self.lab.call("eval", "--init", model, "--data-dir", data,
                             "--allow-other-tokenizer")
        self.assertIn("its tokenizer is not that of the model", done.stderr)

    def test_bits_per_byte_from_the_targets(self):
        """Bytes are counted here from the shard itself: raw bytes, of which 0 ends a document."""
        result = json.loads(self.lab.call("eval", "--init", self.calm, "--json").stdout)
        shard = next(self.lab.data.glob("*_val_*.bin")).read_bytes()
        count = struct.unpack("<3i", shard[:12])[2]
        width = (len(shard) - 1024) // count
        tokens = struct.unpack(f"<{count}{'H' if width == 2 else 'I'}", shard[1024:])
        scored = tokens[1:result["tokens"] + 1]
        special = json.loads((self.lab.data / "tokenizer.json").read_text())["added_tokens"]
        special = {token["id"] for token in special}
        text_bytes = sum(token not in special for token in scored)
        expected = result["loss"] * result["tokens"] / math.log(2) / text_bytes
        self.assertAlmostEqual(result["bits_per_byte"], expected, places=5)
        metrics = lines_of(self.calm, "metrics.jsonl")
        self.assertTrue(all("bits_per_byte" in line for line in metrics if "loss" in line))
        self.assertTrue(all("val_bits_per_byte" in line for line in metrics if "val_loss" in line))

    # --- the best model ---------------------------------------------------------------------

    def test_the_best_checkpoint_is_kept_and_named(self):
        out = self.lab.folder / "best"
        self.lab.train(out, "adamw", 12, "--lr", "3", "--checkpoint-freq", 2, "--keep-last", 1,
                       "--val-loss-every", 2, "--scheduler-type", "constant")
        losses = {line["step"]: line["val_loss"] for line in lines_of(out, "metrics.jsonl")
                  if "val_loss" in line and line["step"] > 0}
        best = min(losses, key=losses.get)
        self.assertEqual(harness.steps_of(out), sorted({best, 12}))
        listing = self.lab.call("checkpoint", "list", out).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listing if " best " in line], [str(best)])
        for name, step in (("best", best), (str(best), best), ("last", 12)):
            result = json.loads(self.lab.call("eval", "--init", f"{out}@{name}", "--json").stdout)
            self.assertAlmostEqual(result["loss"], losses[step], places=5)
        self.assertIn("expected a step", self.failure(2, "eval", "--init", f"{out}@first"))
        with (out / "checkpoints" / f"step-{best:010d}" / "optimizer.bin").open("r+b") as file:
            file.write(b"damaged")
        done = self.lab.call("eval", "--init", f"{out}@best", "--json")
        self.assertIn(f"step {best} skipped", done.stderr)
        self.assertAlmostEqual(json.loads(done.stdout)["loss"], losses[12], places=5)
        self.assertIn("nothere: there is no such", self.failure(1, "eval", "--init", "nothere"))

    def test_patience(self):
        out = self.lab.folder / "patience"
        words = self.lab.command(out, "adamw", 60, "--lr", "3", "--val-loss-every", 2,
                                 "--checkpoint-freq", 0, "--patience", 3, "--scheduler-type",
                                 "constant")
        done = self.lab.call(*words)
        self.assertIn("stopped early", done.stdout)
        never = "never fell below its value before step 1" in done.stdout  # then there is no best one to go on with
        self.assertEqual(f"generate --init {out}@best" in done.stderr, not never)
        losses = [(line["val_loss"], line["step"]) for line in lines_of(out, "metrics.jsonl")
                  if "val_loss" in line]
        last, best = losses[-1][1], min(losses)[1]
        self.assertLess(last, 60)
        self.assertEqual(last, best + 6)
        self.assertIn(last, harness.steps_of(out))
        self.assertTrue(best == 0 or best in harness.steps_of(out))
        before = contents(out)
        self.assertIn("already stopped early", self.lab.call(*words).stdout)
        self.assertIn(f"stopped early at step {last} and was not changed: lr was '3' and is now '1'; to continue with that, "
                      "give a larger --patience than 3", self.failure(2, *words, "--lr", "1"))
        self.assertEqual(contents(out), before)
        self.lab.call(*words, "--lr", "1", "--patience", 4, "--num-iterations", last + 2)
        self.assertIn(last + 2, harness.steps_of(out))

    def test_validations_on_other_text_are_told(self):
        out, data = self.copy("scored"), self.lab.folder / "scored-data"
        shutil.copytree(self.lab.data, data)
        shard, = data.glob("*_val_*.bin")
        content = bytearray(shard.read_bytes())
        content[1100] ^= 1
        shard.write_bytes(content)
        for number, (words, told) in enumerate((((), 0), (("--data-dir", data), 1), ((), 0), (("--val-tokens", 0), 0), (("--val-tokens", 64), 1),
                                                (("--val-tokens", 40), 0), ((), 0))):
            said = self.lab.call("train", "--out", out, "--num-iterations", STEPS + 1 + number, *words).stderr
            self.assertEqual(said.count("validations score other text than before"), told, said)

    def test_the_best_checkpoint_that_is_named_is_there(self):
        """Without --keep-best the one of the lowest loss has gone when the run stops."""
        out = self.lab.folder / "gone"
        said = self.lab.train(out, "adamw", 60, "--lr", "0.3", "--val-loss-every", 1, "--checkpoint-freq", 1,
                              "--keep-last", 1, "--no-keep-best", "--patience", 2).stdout
        losses = {line["step"]: line["val_loss"] for line in lines_of(out, "metrics.jsonl") if "val_loss" in line}
        last, = harness.steps_of(out)
        self.assertNotIn(min(losses, key=losses.get), (0, last))
        self.assertIn(f"stopped early at step {last}; {out}@best is that of step {last}\n", said)
        self.lab.call("eval", "--init", f"{out}@best")

    def test_a_branch_goes_its_own_way(self):
        out = self.lab.folder / "branch"
        self.lab.call("checkpoint", "branch", f"{self.calm}@3", "--out", out)
        self.lab.call("train", "--out", out, "--quiet")
        self.assertEqual(harness.digest(out, STEPS), harness.digest(self.calm, STEPS))
        harness.check_metrics(out, STEPS)
        self.failure(2, "checkpoint", "branch", self.calm, "--out", out)
        other = self.lab.folder / "branch-lr"
        self.lab.call("checkpoint", "branch", f"{self.calm}@3", "--out", other)
        self.assertIn(f'out: "{other}"\n', (other / "config.yaml").read_text())  # not the run that it came from
        self.lab.call("train", "--config", other / "config.yaml", "--lr", "0.001", "--quiet")
        self.assertEqual([(entry["step"], entry["options"]["lr"])
                          for entry in lines_of(other, "history.jsonl")],
                         [(0, "0.11"), (3, "0.001")])

    def test_a_branch_has_the_options_of_its_step(self):
        out, branch = self.copy("extended"), self.lab.folder / "branch-of-3"
        self.lab.call("train", "--out", out, "--lr", "0.01", "--num-iterations", "9", "--keep-last", 9, "--quiet")
        for step, lr, steps in (3, "0.11", str(STEPS)), (STEPS, "0.11", str(STEPS)), (9, "0.01", "9"):
            self.lab.call("checkpoint", "branch", f"{out}@{step}", "--out", branch)
            options = options_of(branch)
            self.assertEqual((options["lr"], options["num_iterations"]), (lr, steps))
            self.assertEqual(options["keep_last"], "9")  # changes no result: as it is now
            shutil.rmtree(branch)

    def test_a_branch_that_fails_leaves_nothing(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        for name, existed in (("branch-new", False), ("branch-empty", True)):
            out = self.lab.folder / name
            if existed:
                out.mkdir()
            words = ("checkpoint", "branch", self.calm, "--out", out)
            self.assertIn("File too large", self.failure(1, *words, preexec_fn=small))
            self.assertEqual(list(out.iterdir()) if existed else out.exists(), [] if existed else False)
            self.lab.call(*words)

    def test_the_average_of_weights(self):
        """a <- a + (1 - d)(w - a), recomputed here from the weights of every step."""
        out, cut = self.lab.folder / "ema", self.lab.folder / "ema-cut"
        more = ("--ema", "0.5", "--checkpoint-freq", 1, "--keep-last", 99)
        self.lab.train(out, "adamw", 5, *more)
        average = None
        for step in harness.steps_of(out):
            folder = out / "checkpoints" / f"step-{step:010d}"
            weights, found = (floats(folder / name) for name in ("model.safetensors",
                                                                 "ema.safetensors"))
            if average is None:  # before step 1 the weights are the seed's; take it from there
                average = found
                continue
            decay = min(0.5, (1 + step) / (10 + step))
            average = [a + (1 - decay) * (w - a) for a, w in zip(average, weights)]
            worst = max(abs(a - b) for a, b in zip(average, found))
            self.assertLess(worst, 1e-6)
        self.lab.train(cut, "adamw", 5, *more)
        for step in (4, 5):
            shutil.rmtree(cut / "checkpoints" / f"step-{step:010d}")
        self.lab.train(cut, "adamw", 5, *more)
        self.assertEqual(harness.digest(cut, 5), harness.digest(out, 5))
        logged = [line["val_loss"] for line in lines_of(out, "metrics.jsonl")
                  if "val_loss" in line][-1]
        result = json.loads(self.lab.call("eval", "--init", out, "--json").stdout)
        self.assertAlmostEqual(result["loss"], logged, places=5)
        exported = self.lab.folder / "ema-model"
        self.lab.call("checkpoint", "export", out, "--out", exported)
        self.assertEqual(floats(exported / "model.safetensors"),
                         floats(out / "checkpoints" / "step-0000000005" / "ema.safetensors"))

    # --- warnings -----------------------------------------------------------------------------

    def test_runs_that_go_wrong_are_told(self):
        more = ("--scheduler-type", "constant", "--warmup-ratio", "0", "--val-loss-every", 0)
        said = self.lab.train(self.lab.folder / "wild", "sgd", 30, "--lr", "500", "--scalar-opt",
                              "sgd", *more).stderr
        self.assertIn("has diverged", said)
        said = self.lab.train(self.lab.folder / "still", "sgd", 60, "--lr", "0", "--opt.mu", "0",
                              *more).stderr
        for alarm in ("has diverged", "stays at ln", "gradient is 0"):
            self.assertNotIn(alarm, said)
        said = self.lab.train(self.lab.folder / "lr", "mousse", 2, "--embed-lr-factor", "1e6",
                              "--lr", "100", check=False).stderr
        self.assertIn("out of range", said)
        self.assertFalse((self.lab.folder / "lr" / "metrics.jsonl").exists(), "before any step")

    def test_a_model_that_learns_nothing_is_told(self):
        """Weights of 0: all tokens are equally probable, and the gradient is exactly 0."""
        out = self.lab.folder / "nothing"
        said = self.lab.train(out, "mousse", 60, "--init", self.changed_weights(lambda data: bytes(len(data))),
                              "--val-loss-every", 0).stderr
        uniform = f"the loss stays at ln(vocabulary) = {math.log(256):.2f}"
        log = (out / "log.txt").read_text()
        for alarm in (uniform, "step 3: the gradient is 0"):
            self.assertEqual(said.count(alarm), 1, said)
            self.assertEqual(log.count(alarm), 1, log)
        self.assertNotIn("has diverged", said)

    def test_headers_and_notices(self):
        said = self.lab.train(self.lab.folder / "head", "adamw", 1, "--scalar-opt", "sgd",
                              "--batch-size", 11, "--device-batch-size", 0).stderr
        self.assertIn("adamw for all tensors", said)
        self.assertIn("scalar_opt is ignored", said)
        self.assertIn("one at a time", said)
        done = self.lab.call("plan", "--preset", "nano", "--gflops", "9", "--optimizer", "adamw", "--scalar-opt",
                             "sgd")
        self.assertIn("optimizer  adamw for all tensors\n", done.stdout)
        self.assertIn("scalar_opt", self.lab.call("params", "--preset", "nano", "--optimizer", "adamw",
                                                  "--scalar-opt", "sgd").stderr)
        log = (self.lab.folder / "head" / "log.txt").read_text().splitlines()
        self.assertTrue(all(line[:2] == "20" for line in log), log)

    def test_samples_begin_with_the_prompt(self):
        said = self.lab.train(self.lab.folder / "sampled", "muon", 1, "--sample-every", 1,
                              "--sample-prompt", "the cat").stderr
        self.assertIn("sample: the cat", said)
        self.assertNotIn("the catthe cat", said)

    def test_the_vocabulary_without_a_manifest(self):
        data = self.lab.folder / "bare"
        shutil.copytree(self.other_tokenizer(), data)
        (data / "manifest.json").unlink()
        told = self.lab.call("train", "--preset", "nano", "--data-dir", data, "--dry-run").stdout
        tokens = json.loads((data / "tokenizer.json").read_text())
        count = max(max(tokens["model"]["vocab"].values()),
                    *(token["id"] for token in tokens["added_tokens"])) + 1
        self.assertIn(f"\nvocab_size: {count}\n", told)

    def test_plan_shows_what_is_possible(self):
        words = ("plan", "--preset", "nano", "--batch-size", "6", "--gflops", "100")
        rows = [line.split()[0] for line in self.lab.call(*words, "--ranks", "3").stdout.split("\n\n")[1]
                .splitlines()[1:]]
        self.assertEqual(rows, ["1", "2", "3"])
        self.assertIn("cannot be divided", self.failure(2, *words, "--ranks", "4"))

    def test_plan_measures_what_nobody_said(self):
        words = ("plan", "--preset", "nano", "--n-layer", "1", "--sequence-length", "64", "--batch-size", "4", "--ranks", "4")
        head, _, times = self.lab.call(*words).stdout.split("\n\n")[:3]
        self.assertRegex(head, r"rates +model at \d+% of that, optimizer at \d+% \(measured\)")
        rows = [[float(word.replace(",", "")) for word in line.split()] for line in times.splitlines()[1:]]
        for _, compute, optimizer, exchange, step, _, overlapped in rows:
            self.assertAlmostEqual(step, compute + optimizer + exchange, delta=0.01 * step)
            self.assertLessEqual(overlapped, step)
        self.assertIn("(assumed)", self.lab.call(*words, "--gflops", "100").stdout)


def floats(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    return list(struct.unpack(f"<{(len(data) - start) // 4}f", data[start:]))


unittest.main()
