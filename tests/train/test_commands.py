"""The commands around a run: configuration files, signals, damage, locks, evaluation, text.

    test_commands.py PROGRAM
"""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest

import harness
from train_test import STEPS, TrainTest

CONFIGS = pathlib.Path(__file__).resolve().parent / "configs"


def catches(pid, number):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1 == 1
    return False


class Commands(TrainTest):
    def test_published_configurations(self):
        for path in sorted(CONFIGS.glob("*.yaml")):
            done = self.lab.call("train", "--config", path, "--dry-run")
            self.assertIn("model: 162.", done.stdout, path)
            self.assertIn("wandb_project", done.stderr)

    def test_flags_win_over_the_file(self):
        path = self.lab.folder / "a.yaml"
        path.write_text("optimizer: mousse\nlr: 0.5\nbatch_size: 16\nopt: {graft: off, mu: 0.9, alpha: 0.25}\n")
        text = self.lab.call("train", "--config", path, "--lr", "0.25", "--mu", "0.8", "--shampoo-alpha", "0.5", "--dry-run").stdout
        self.assertIn("\nlr: 0.25\n", text)
        self.assertIn("\nmu: 0.8\n", text)
        self.assertIn("\nshampoo_alpha: 0.5\n", text)
        self.assertIn("\nbatch_size: 16\n", text)
        self.assertIn("\nshampoo_norm: off\n", text)
        path.write_text("out: file\n")
        for flag, expected in ("--out", "\nout: flag\n"), ("--checkpoint-dir", "\nout: (none)\ncheckpoint_dir: flag\n"):
            self.assertIn(expected, self.lab.call("train", "--config", path, flag, "flag", "--dry-run").stdout)

    def test_mistakes(self):
        bad = self.lab.folder / "bad.yaml"
        for text, expected in (("lrr: 1\n", "line 1: there is no option 'lrr'; did you mean"),
                               ("lr: 1\nlr: 2\n", "'lr' is given twice"),
                               ("batch_size: [1, 2]\n", "found a list"),
                               ("- 1\n", "key: value"), ("out: b: c\n", "not YAML"), ("seed: 1\nlr 0.1\n", "line 3: not YAML"),
                               ("seed: 1\nlr: high\n", "bad.yaml: line 2: option 'lr': 'high' is not a number"),
                               ("opt:\n  mu: x\n", "bad.yaml: line 2: option 'opt.mu': 'x' is not a number")):
            bad.write_text(text)
            self.assertIn(expected, self.failure(2, "train", "--config", bad, "--dry-run"))
        self.assertIn("did you mean 'muon'?", self.failure(2, "train", "--optimizer", "muonn"))
        self.assertIn("choose from mousse, muon", self.failure(2, "train", "--optimizer", "zzzzz"))
        self.assertIn("give --data-dir", self.failure(2, "train", "--out",
                                                      self.lab.folder / "none"))
        run = ("train", "--data-dir", self.lab.data, "--out", self.lab.folder / "x", "--optimizer", "mousse")
        self.assertIn("the optimizer mousse has no option 'grft'; did you mean 'graft'?",
                      self.failure(2, *run, "--opt.grft", "1"))
        self.assertIn("the optimizer mousse has no option 'clip_norm'; see 'mousse help optimizers mousse'",
                      self.failure(2, *run, "--opt.clip_norm", "1"))
        self.assertIn("optimizer lion: beta1 = 3 is out of range", self.failure(2, *run, "--scalar-opt", "lion", "--scalar.beta1", "3"))
        self.assertIn("optimizer mousse: shampoo_alpha: alpha = 9 is out of range",
                      self.failure(2, *run, "--shampoo-alpha", "9"))
        self.assertIn("optimizer mousse: lr = 'abc' is not a number", self.failure(2, *run, "--lr", "abc"))
        self.assertIn("'1' is not allowed; expected a number from 0 to 0.9999999", self.failure(2, *run, "--ema", "1"))
        file = self.lab.folder / "text.txt"
        self.assertIn("text.txt: is not a directory; nothing was changed",
                      self.failure(2, "train", "--data-dir", self.lab.data, "--out", file))
        self.assertIn(f"--init {self.calm} begins with the weights there",
                      self.failure(2, "train", "--model", self.calm, "--data-dir", self.lab.data))
        self.assertIn("1 layer, 2 heads", self.failure(
            2, "train", "--out", self.one_layer(), "--n-layer", "2", "--num-iterations", "9"))
        self.assertIn("nowhere: there is no such directory or token shard",
                      self.failure(1, "eval", "--init", self.calm, "--data-dir", "nowhere"))
        self.assertIn("expected one of val, train",
                      self.failure(2, "eval", "--init", self.calm, "--split", "test"))
        checkpoint = next(self.calm.glob("checkpoints/*"))
        self.assertIn("as --init RUN or RUN@STEP names it", self.failure(2, "eval", "--init", checkpoint))
        self.assertIn("has no checkpoints; name the --out", self.failure(1, "checkpoint", "list", self.lab.data))
        self.assertIn("nowhere: there is no such directory", self.failure(1, "checkpoint", "list", "nowhere"))
        self.assertIn("leave out the @", self.failure(2, "checkpoint", "verify", f"{self.calm}@best"))
        self.assertIn("gpt2: there is no such tokenizer",
                      self.failure(1, "tokenize", file, "--tokenizer", "gpt2", "--out", self.lab.folder / "y"))
        self.assertIn("no model: give --init", self.failure(2, "generate"))
        self.assertIn("text.txt: is not a model: there is no config.json next to it; expected a run, a checkpoint",
                      self.failure(1, "generate", "--init", file))
        self.assertIn("does not divide", self.failure(2, "train", "--batch-size", "5",
                                                      "--device-batch-size", "2"))

    def test_a_mistake_leaves_no_directory(self):
        out, data = self.lab.folder / "mistyped" / "run", ("--data-dir", self.lab.data)
        self.assertIn("run: there is no run here to continue; check the name, or give --data-dir",
                      self.failure(2, "train", "--out", out))
        self.failure(1, "train", "--out", out, "--data-dir", "nowhere")
        for words in (("--opt.grft", "1"), ("--lr", "abc"), ("--vocab-size", "7")):
            self.failure(2, "train", "--out", out, *data, *words)
        broken = self.lab.folder / "cut-off"
        shutil.copytree(self.calm / "checkpoints" / f"step-{STEPS:010d}", broken)
        with (broken / "model.safetensors").open("r+b") as file:
            file.write(struct.pack("<Q", 3))
        self.failure(3, "train", "--out", out, *data, "--init", broken)
        self.assertFalse(out.parent.exists())

    def test_a_path_that_checkpoints_do_not_fit_is_refused(self):
        """Before the first step, not with the first save."""
        out = str(self.lab.folder)
        while len(out) < 4060:
            out += "/" + (4059 - len(out) if len(out) > 3900 else 100) * "d"
        self.assertIn("out: a path of 4060 characters is too long for the files of a run; at most 3967",
                      self.failure(2, *self.lab.command(out)))
        self.assertFalse((self.lab.folder / ("d" * 100)).exists())

    def test_a_run_without_a_checkpoint_starts_again(self):
        """As one that was killed before its first, of which nothing else is lost than its steps."""
        out = self.copy("unsaved")
        shutil.rmtree(out / "checkpoints")
        said = self.failure(2, "train", "--out", out)
        self.assertIn(f"{out}: has no checkpoint to continue from; 'mousse train --config", said)
        self.lab.call(*said.split("'mousse ")[1].split("' starts it again")[0].split(" "))
        self.assertEqual(harness.steps_of(out)[-1], STEPS)

    def one_layer(self):
        out = self.lab.folder / "one-layer"
        self.lab.train(out, "muon", 1, "--n-layer", 1)
        return out

    def test_fixed_options_are_refused_and_others_said(self):
        out = self.copy("fixed")
        self.assertIn("cannot change to 'muon'", self.failure(
            2, "train", "--out", out, "--optimizer", "muon"))
        self.assertIn("cannot change to 'adamw'", self.failure(2, "train", "--out", out, "--scalar-opt", "adamw"))
        self.assertIn("sides = both, here it is left; the file is intact", self.failure(
            2, "train", "--out", out, "--num-iterations", 8, "--opt.sides", "left"))
        self.assertIn("without the average that ema", self.failure(
            2, "train", "--out", out, "--num-iterations", 8, "--ema", "0.9", "--ema-weight", "0.5"))
        self.assertIn("start a new one", self.failure(2, "train", "--out", out, "--n-layer", "1"))
        self.assertIn("resume is off", self.failure(2, "train", "--out", out, "--no-resume"))
        done = self.lab.call("train", "--out", out, "--lr", "0.01", "--num-iterations", "7")
        self.assertIn("num_iterations was '6' and is now '7'", done.stderr)
        self.assertIn("lr was '0.11' and is now '0.01'", done.stderr)
        self.assertIn("already complete", self.lab.call("train", "--out", out).stdout)

    def test_another_batch_is_taken(self):
        """Slices that were chosen for the batch of before do not stand in the way, given ones do."""
        out = self.copy("batch")
        said = self.lab.call("train", "--out", out, "--num-iterations", STEPS + 1, "--batch-size", 6).stderr
        self.assertIn("batch_size was '4' and is now '6'", said)
        self.assertIn("slices was '2' and is now '1'", said)
        self.assertIn("--slices 0 chooses", self.failure(2, "train", "--out", out, "--num-iterations", STEPS + 2,
                                                         "--slices", 2))

    def test_a_run_continues_by_its_name_alone(self):
        out = self.lab.folder / "moved"
        self.lab.train(self.lab.folder / "first", "mousse", STEPS)
        shutil.move(self.lab.folder / "first", out)
        shutil.rmtree(out / "checkpoints" / f"step-{STEPS:010d}")
        self.lab.call("train", "--out", out)
        self.assertEqual(harness.digest(out, STEPS), harness.digest(self.calm, STEPS))

    def test_damage_is_passed_over(self):
        out = self.copy("damaged")
        victim = out / "checkpoints" / f"step-{STEPS:010d}" / "optimizer.bin"
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)
        self.assertIn("optimizer.bin: damaged", self.failure(3, "checkpoint", "verify", out))
        done = self.lab.train(out, "mousse", STEPS)
        self.assertIn("step 6 skipped", done.stderr)
        self.assertIn("continues at step 3", done.stderr)
        self.assertEqual(harness.digest(out, STEPS), harness.digest(self.calm, STEPS))
        for path in (out / "checkpoints").glob("*/manifest.json"):
            path.unlink()
        self.assertIn("none of its 2 checkpoints", self.failure(
            3, *self.lab.command(out, "mousse", STEPS)))

    def test_what_cannot_be_read_is_not_damaged(self):
        out = self.copy("closed")
        weights = out / "checkpoints" / f"step-{STEPS:010d}" / "model.safetensors"
        weights.chmod(0)
        # The superuser may read everything unless this right is taken away.
        words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        done = subprocess.run([*words, self.lab.program, *self.lab.command(out, "mousse", STEPS + 3)], text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("model.safetensors: cannot open: Permission denied", done.stderr)
        self.assertNotIn("skipped", done.stderr)
        weights.chmod(0o644)
        self.assertIn(f"continues at step {STEPS}", self.lab.train(out, "mousse", STEPS + 3).stderr)

    def test_unknown_names_are_not_touched(self):
        out = self.copy("foreign")
        shutil.copytree(out / "checkpoints" / "step-0000000003",
                        out / "checkpoints" / "step-3-of-mine")
        (out / "checkpoints" / "step-0000000003" / "notes.txt").write_text("mine")
        (out / "checkpoints" / ".step-0000000009.making").mkdir()
        self.lab.train(out, "mousse", 12, "--keep-last", 1)
        names = sorted(path.name for path in (out / "checkpoints").iterdir())
        self.assertEqual(names, ["step-0000000003", "step-0000000012", "step-3-of-mine"])

    def test_keep_every(self):
        out = self.lab.folder / "kept"
        self.lab.train(out, "adamw", 15, "--keep-last", 1, "--keep-every", 6)
        self.assertEqual(harness.steps_of(out), [6, 12, 15])

    def start_long_run(self, out, *words, **more):
        process = subprocess.Popen([self.lab.program, *self.lab.command(
            out, "mousse", 100000, "--checkpoint-freq", 0, *words)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **more)
        while not (out / "metrics.jsonl").exists() or \
                '"loss"' not in (out / "metrics.jsonl").read_text():
            time.sleep(0.02)
        return process

    def test_signals(self):
        out = self.lab.folder / "signals"
        process = self.start_long_run(out)
        self.assertIn("another process is training", self.failure(
            1, *self.lab.command(out, "mousse", 100000)))
        process.send_signal(signal.SIGUSR1)
        while not harness.steps_of(out):
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "SIGUSR1 must not end it")
        process.send_signal(signal.SIGTERM)
        stdout, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertIn("the same command continues", stdout)
        steps = harness.steps_of(out)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(json.loads(lines[-1])["step"], steps[-1], "saved where it stopped")

    def test_not_to_resume_is_asked_of_a_command(self):
        """And not of the run, which goes on by its name."""
        out = self.lab.folder / "once"
        process = self.start_long_run(out, "--no-resume")
        process.terminate()
        stdout, said = process.communicate(timeout=60)
        self.assertTrue(stdout.endswith(" and saved\n"), stdout)
        self.assertIn(f" train --out {out}\n", said)
        self.assertIn("resume is off; --resume continues it", self.failure(2, *self.lab.command(out, "mousse", 100000, "--no-resume")))
        step = harness.steps_of(out)[-1]
        self.assertIn(f"continues at step {step} of", self.lab.call("train", "--out", out, "--num-iterations", step + 1).stderr)

    def test_a_closed_terminal(self):
        """The run is saved; under nohup it goes on."""
        process = self.start_long_run(self.lab.folder / "hung-up")
        for _ in range(2):  # the shell's, and a moment later the terminal's own
            process.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        stdout, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGHUP)
        self.assertIn("the same command continues", stdout)
        out = self.lab.folder / "nohup"
        process = self.start_long_run(out, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR1)
        while not harness.steps_of(out):
            self.assertIsNone(process.poll(), "nohup is for this")
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_a_request_to_save_before_the_first_step(self):
        for number in range(20):
            out = self.lab.folder / f"early-{number}"
            process = subprocess.Popen([self.lab.program, *self.lab.command(out, "mousse", 1000, "--checkpoint-freq", 0)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while not catches(process.pid, signal.SIGUSR1):
                self.assertIsNone(process.poll())
            early = not (out / "metrics.jsonl").exists()
            process.send_signal(signal.SIGUSR1)
            while early and not harness.steps_of(out) and process.poll() is None:
                time.sleep(0.02)
            process.terminate()
            process.communicate(timeout=60)
            if early:
                self.assertEqual(harness.steps_of(out)[0], 1)
                return
        self.fail("it always catches the signal only when its first step is near")

    def test_a_signal_that_was_ignored_at_the_start_ends_it_too(self):
        """Shells ignore SIGINT in what they start in the background; 0 would mean all steps are taken."""
        process = self.start_long_run(self.lab.folder / "ignored",
                                      preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
        self.assertIn("the same command continues", stdout)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_eval_agrees_with_the_run_and_the_definition(self):
        lines = map(json.loads, (self.calm / "metrics.jsonl").read_text().splitlines())
        logged = [line["val_loss"] for line in lines if "val_loss" in line][-1]
        result = json.loads(self.lab.call("eval", "--init", self.calm, "--json").stdout)
        self.assertEqual(set(result), {"loss", "perplexity", "bits_per_byte", "tokens"})
        self.assertAlmostEqual(result["loss"], logged, places=5)
        shard = next(self.lab.data.glob("*_val_*.bin")).read_bytes()
        count = struct.unpack("<3i", shard[:12])[2]
        self.assertEqual(result["tokens"], (count - 1) // 32 * 32)
        weights = self.calm / "checkpoints" / f"step-{STEPS:010d}" / "model.safetensors"
        other = json.loads(self.lab.call("eval", "--init", weights, "--data-dir", self.lab.data,
                                         "--json").stdout)
        self.assertEqual(result, other)

    def test_eval_tells_documents_apart_as_the_run_did(self):
        """Also where the tokenizer is gone: the description of the data has the token that documents start with."""
        data = self.lab.folder / "without"
        shutil.copytree(self.lab.data, data)
        (data / "tokenizer.json").unlink()
        out = self.lab.folder / "apart"
        self.lab.train(out, "muon", 4, "--data-dir", data, "--separate-documents")
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        wanted = [line["val_loss"] for line in lines if "val_loss" in line][-1]
        result = json.loads(self.lab.call("eval", "--init", out, "--json").stdout)
        self.assertAlmostEqual(result["loss"], wanted, delta=1e-6)
        self.assertIsNone(result["bits_per_byte"])

    def test_generate(self):
        words = ("generate", "--init", self.calm, "--prompt", "the cat", "--tokens", "80")
        text = self.lab.call(*words, "--seed", "3").stdout
        self.assertTrue(text.startswith("the cat"))
        self.assertEqual(text, self.lab.call(*words, "--seed", "3").stdout)
        self.assertNotEqual(text, self.lab.call(*words, "--seed", "4").stdout)
        greedy = self.lab.call(*words, "--temperature", "0", "--top-k", "3").stdout
        self.assertEqual(greedy, self.lab.call(*words, "--temperature", "0").stdout)

    def test_export_and_init(self):
        out = self.lab.folder / "exported"
        self.lab.call("checkpoint", "export", self.calm, "--out", out)
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["config.json", "model.safetensors", "tokenizer.json"])
        before = (out / "config.json").read_bytes()
        for place, more in ((out, ()), (self.lab.folder / "text.txt", ("--format", "gguf"))):
            self.assertIn("was not changed", self.failure(2, "checkpoint", "export", self.calm, "--out", place, *more))
        self.assertEqual((out / "config.json").read_bytes(), before)
        tuned = self.lab.folder / "tuned"
        self.lab.call("train", "--init", out, "--data-dir", self.lab.data, "--out", tuned,
                      "--num-iterations", "2", "--batch-size", "2", "--lr", "0")
        before = (out / "model.safetensors").read_bytes()
        after = (tuned / "checkpoints" / "step-0000000002" / "model.safetensors").read_bytes()
        self.assertEqual(before, after, "lr 0 leaves the weights that it started from")
        same = f"{self.lab.folder}/./exported/"
        said = self.lab.call("train", "--out", tuned, "--init", same, "--num-iterations", "3", "--ema", "0.9").stderr
        self.assertIn("continues at step 2 of 3", said)
        said = self.lab.call("train", "--init", tuned, "--data-dir", self.lab.data, "--out", self.lab.folder / "retuned",
                             "--num-iterations", "1", "--batch-size", "2").stderr
        self.assertEqual(said.count("the average of the weights is used"), 1, said)
        again = ("train", "--out", tuned, "--num-iterations", "4")  # with the weights, not with their average
        self.assertNotIn("the average of the weights is used", self.lab.call(*again).stderr)
        self.assertIn(f"did not begin with --init {self.calm}", self.failure(2, *again, "--init", self.calm))
        asked = self.lab.folder / "tuned.yaml"  # which would then be what the run's config.yaml says
        asked.write_text(f"init: {self.calm}\ndata_dir: {self.lab.data}\nbatch_size: 2\nnum_iterations: 5\n")
        again = ("train", "--config", asked, "--out", tuned)
        self.assertIn(f"did not begin with --init {self.calm}", self.failure(2, *again))
        self.lab.call(*again, "--init", out)
        shutil.rmtree(out)  # of a run that is there, they are not needed any more
        self.assertIn("n_layer: 2\n", self.lab.call("train", "--out", tuned, "--dry-run").stdout)
        (tuned / "checkpoints" / "step-0000000005" / "config.json").write_text("{")
        self.assertIn("checkpoint of step 5 skipped", self.lab.call("train", "--out", tuned, "--dry-run").stderr)
        self.lab.call("plan", "--out", tuned, "--gflops", "9")
        self.lab.call("train", "--out", tuned, "--num-iterations", "6")

    def test_losses_that_are_not_finite(self):
        out = self.copy("broken")
        weights = out / "checkpoints" / f"step-{STEPS:010d}" / "model.safetensors"
        broken = self.lab.folder / "nan"
        broken.mkdir()
        data = bytearray(weights.read_bytes())
        data[-4:] = struct.pack("<f", float("nan"))
        (broken / "model.safetensors").write_bytes(data)
        shutil.copy(weights.parent / "config.json", broken)
        error = self.failure(1, *self.lab.command(self.lab.folder / "nans", "mousse", STEPS,
                                                  "--init", broken, "--max-skipped", 3,
                                                  "--checkpoint-freq", 0))
        self.assertIn("step 1 skipped", error)
        self.assertIn("there is no checkpoint;", error)
        self.assertIn("stopped at step 3", error)
        lines = (self.lab.folder / "nans" / "metrics.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(x).get("skipped") for x in lines if '"loss"' in x],
                         [True] * 3)

    def test_skipped_steps_leave_the_last_good_checkpoint(self):
        """A run that diverges: what is saved is of before, and the last save comes in addition."""
        more = ("--lr", 1000, "--weight-decay", 1000, "--checkpoint-freq", 1, "--keep-last", 2, "--val-loss-every", 0,
                "--scheduler-type", "constant", "--warmup-ratio", 0)
        out = self.lab.folder / "diverged"
        error = self.failure(1, *self.lab.command(out, "sgd", 100, *more, "--max-skipped", 5))
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        good = [line["step"] for line in lines if "loss" in line and not line.get("skipped")]
        self.assertEqual(harness.steps_of(out), good[-2:])
        self.assertIn(f"the newest checkpoint is of step {good[-1]};", error)
        ended = self.lab.folder / "diverged-ended"
        self.lab.train(ended, "sgd", good[-1] + 3, *more)
        self.assertEqual(harness.steps_of(ended), [*good[-2:], good[-1] + 3])
        before = harness.digest(ended, good[-1] + 3)
        shutil.rmtree(ended / "checkpoints" / f"step-{good[-1] + 3:010d}")
        self.lab.train(ended, "sgd", good[-1] + 3, *more)
        self.assertEqual(harness.digest(ended, good[-1] + 3), before)

    def test_params(self):
        text = self.lab.call("params", "--preset", "nano", "--optimizer", "muon", "--json").stdout
        listing = json.loads(text)
        tensors = {tensor["name"]: tensor for tensor in listing["tensors"]}
        self.assertEqual(len(tensors), 2 + 4 * 6)
        self.assertEqual(tensors["transformer.wte.weight"]["algorithm"], "normuon")
        self.assertEqual(tensors["transformer.h.3.mlp.c_fc.weight"]["algorithm"], "muon")
        self.assertEqual(tensors["transformer.h.3.mlp.c_fc.weight"]["shape"], [512, 128])
        self.assertAlmostEqual(tensors["lm_head.weight"]["lr"], 0.08)
        self.assertAlmostEqual(tensors["transformer.wte.weight"]["lr"], 0.08 * 2 * 128 ** 0.5)
        self.assertEqual(tensors["lm_head.weight"]["weight_decay"], 0)
        self.assertEqual(listing["parameters"], sum(a * b for a, b in
                                                    (t["shape"] for t in tensors.values())))

    def test_who_trains_embedding_and_head(self):
        """NorMuon where it was measured to be better; what has no singular values never."""
        def algorithms(*words):
            listing = json.loads(self.lab.call("params", "--json", *words).stdout)
            return {tensor["role"]: (tensor["algorithm"], round(tensor["lr"], 4)) for tensor in listing["tensors"]}
        for words in (("--preset", "nano", "--recipe", "paper"), ("--preset", "nano", "--optimizer", "soap"),
                      ("--preset", "162M"), ("--preset", "nano", "--model-dim", "512"), ("--preset", "gpt2")):
            self.assertEqual(algorithms(*words)["embedding"][0], "lion", words)
        self.assertEqual(algorithms("--preset", "nano", "--optimizer", "mousse")["head"], ("normuon", 0.08))
        self.assertEqual(algorithms("--preset", "nano", "--scalar-opt", "lion", "--lr", "0.02"),
                         {"embedding": ("lion", 0.02), "head": ("lion", 0.0018), "hidden matrix": ("muon", 0.02)})
        self.assertEqual(algorithms("--preset", "gpt2", "--scalar-opt", "muon", "--lr", "0.02", "--embed-lr-factor", "3"),
                         {"embedding": ("muon", 0.06), "hidden matrix": ("muon", 0.02), "gain or bias": ("lion", 0.02)})

    def test_help_lists_presets_and_the_optimizers_options(self):
        text = self.lab.call("train", "--help").stdout
        for expected in ("--num-iterations N", "Presets: nano, ", "--opt.NAME", "\nSchedule:\n",
                         "--[no-]resume", "Optimizers: mousse, "):
            self.assertIn(expected, text)
        self.assertIn("newton_schulz", self.lab.call("help", "optimizers", "muon").stdout)



unittest.main()
