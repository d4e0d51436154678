"""Help, suggestions, exit codes, and the manual page that is made from the same tables."""
import json
import os
import platform
import re
import subprocess
import unittest

from program import MOUSSE, ROOT, ProgramTest


class Usage(ProgramTest):
    def test_help(self):
        text = self.output("--help").decode()
        self.assertIn("tokenize", text)
        self.assertIn("Exit codes:", text)
        self.assertEqual(self.output("help").decode(), text)
        self.assertEqual(self.output().decode(), text)
        one = self.output("tokenize", "--help").decode()
        self.assertIn("--val-fraction NUMBER", one)
        self.assertIn("(default 0.01; 0 to 0.9)", " ".join(one.split()))
        self.assertEqual(self.output("help", "tokenize").decode(), one)

    def test_version(self):
        self.assertRegex(self.output("version").decode(), r"^mousse \d+\.\d+\.\d+\n")
        self.assertEqual(self.output("--version"), self.output("version"))

    def test_kernels_of_the_blas(self):
        """A processor that OpenBLAS does not know is not computed on by the kernels of 2004; a core asked for is taken."""
        def blas(core=None):
            others = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
            own = {} if core is None else {"OPENBLAS_CORETYPE": core}
            return subprocess.run([MOUSSE, "version"], env={**others, **own}, capture_output=True, check=True).stdout.decode()
        if "instruction set: AVX" in blas():
            self.assertNotIn("Prescott", blas())
        if "DYNAMIC_ARCH" in blas() and platform.machine() == "x86_64":
            self.assertIn("Prescott", blas("Prescott"))

    def test_mistakes(self):
        self.assertIn("did you mean 'tokenize'", self.failure(2, "tokenise"))
        self.assertIn("'mousse --help' lists them", self.failure(2, "zzz"))
        self.assertIn("did you mean 'out'", self.failure(2, "tokenize", "x", "--uot", "y"))
        self.assertIn("needs a value", self.failure(2, "tokenize", "x", "--out"))
        for option, expected in (("--opt.mu", "--opt.mu needs a value"), ("--lr", "--lr needs a value: --lr NUMBER"),
                                 ("--data-dir", "--data-dir needs a value: --data-dir DIR"),
                                 ("--batch-size", "--batch-size needs a value: a whole number from 1")):
            self.assertIn(expected, self.failure(2, "train", option))
        self.assertIn("--batch-size needs a value", self.failure(2, "sweep", "--batch-size"))
        self.assertIn("there is no option '-x'", self.failure(2, "tokenize", "-x"))
        self.assertIn("needs INPUT", self.failure(2, "tokenize"))
        self.assertIn("at most 1 argument, but 'b'", self.failure(2, "data", "a", "b"))
        self.assertIn("from 0 to 0.9", self.failure(2, "tokenize", "x", "--val_fraction=nan"))
        self.assertIn("needs --out", self.failure(2, "tokenize", "x"))
        self.assertIn("cannot open", self.failure(1, "tokenize", "none", "--out", "y"))
        self.assertIn("no *_train_*.bin", self.failure(1, "data", "."))
        self.assertIn("there is no data set 'c4'", self.failure(2, "download", "c4"))

    def test_every_command_explains_itself(self):
        commands = re.findall(r"^  (\w+) +[A-Z]", self.output("help").decode().split("First steps")[0], re.M)
        self.assertGreater(len(commands), 15)
        for name in commands:
            text = self.output(name, "--help").decode()
            self.assertTrue(text.startswith(f"usage: mousse {name}"), name)
            self.assertNotRegex(text, r"e\+\d\d", f"{name}: a number with an exponent")
            self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), name)

    def test_topics(self):
        self.assertIn("newton_schulz", self.output("help", "optimizers", "muon").decode())
        listed = re.findall(r"^  (\w+) ", self.output("help", "optimizers").decode(), re.M)
        self.assertGreater(len(listed), 20)
        for name in listed:
            self.assertNotRegex(self.output("help", "optimizers", name).decode(), r"e\+\d\d", name)
        self.assertIn("834M", self.output("help", "presets").decode())
        self.assertIn("choose from mousse, muon", self.failure(2, "help", "optimizers", "none"))

    def test_names_of_other_programs(self):
        notes = self.run_mousse("train", "--learning-rate", "0.1", "--max_steps=7", "--output-dir", "o", "--data", "d",
                                "--model", "nano", "--dry-run")
        for note in ("--learning-rate is called --lr", "--max-steps is called --num-iterations",
                     "--output-dir is called --out", "--data is called --data-dir", ):
            self.assertIn(note, notes.stderr.decode())
        for line in ("lr: 0.1", "num_iterations: 7", "out: o", "data_dir: d", "preset: nano"):
            self.assertIn(line + "\n", notes.stdout.decode())
        self.write("c.yaml", b"learning_rate: 0.3\n")
        named = self.run_mousse("train", "--config", "c.yaml", "--dry-run")
        self.assertIn("'learning_rate' is called 'lr' here", named.stderr.decode())
        self.assertIn("lr: 0.3", named.stdout.decode())
        self.assertNotIn(b"is called", self.run_mousse("train", "--steps", "3", "--dry-run", "--quiet").stderr)
        for words, remedy in ((("train", "--epochs", "3"), "num_iterations"),
                              (("train", "data/book"), "--data-dir data/book"),
                              (("train", "--dropout", "0.1"), "models have none"),
                              (("train", "--beta2", "0.99"), "opt.NAME"), (("train", "--warmup-iters", "9"), "warmup_ratio"),
                              (("train", "--init_from", "resume"), "the same command continues a run"),
                              (("generate", "runs/a"), "--init runs/a"),
                              (("resume",), "mousse train --out RUN"), (("export",), "checkpoint export"),
                              (("info",), "mousse data"), (("train", "--preset", "big", "--dry-run"), "nano, tiny"),
                              (("train", "--optimizer", "adm", "--dry-run"), "adamw")):
            self.assertIn(remedy, self.failure(2, *words), words)
        self.assertIn("'sample' is called 'generate' here", self.run_mousse("sample", "--help").stderr.decode())

    def test_switches(self):
        def shuffle(*words):
            return re.search(r"^shuffle: (\w+)$", self.output("train", *words, "--dry-run").decode(), re.M)[1]
        self.assertEqual([shuffle("--shuffle"), shuffle("--no-shuffle"), shuffle("--shuffle", "true"),
                          shuffle("--shuffle", "false"), shuffle("--shuffle=Yes"), shuffle("--shuffle", "False")],
                         ["true", "false", "true", "false", "true", "false"])

    def test_closed_descriptors_do_not_become_files(self):
        """A file that is opened must not become standard output or standard error."""
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            self.write("a.txt", b"".join(b"one two three %d\n" % i for i in range(9000)))
            script = f'"$0" tokenize a.txt --out "d{closed}" {closed}'
            subprocess.run(["sh", "-c", script, MOUSSE], cwd=self.folder, check=True, capture_output=True, timeout=600)
            self.output("data", f"d{closed}")
        for closed in (">&- 2>&-", "2>&-", "<&- >&- 2>&-"):
            script = (f'"$0" train --preset nano --n-layer 1 --model-dim 16 --n-head 2 --sequence-length 16 --batch-size 2 '
                      f'--num-iterations 3 --val-loss-every 1 --data-dir "d<&-" --out "r{closed}" {closed}')
            subprocess.run(["sh", "-c", script, MOUSSE], cwd=self.folder, check=True, capture_output=True, timeout=600)
            lines = [json.loads(line) for line in self.read(f"r{closed}/metrics.jsonl").splitlines()]
            self.assertEqual([line["step"] for line in lines if "loss" in line], [1, 2, 3])
            self.assertEqual(self.read(f"r{closed}/lock").count(b"step"), 0)
            self.output("report", f"r{closed}", "--text")

    def test_what_reaches_a_terminal_is_clean(self):
        evil = b"\x1b]0;owned\x07\x1b[2Jx\xc2\x9b31m"
        self.write("c.yaml", evil + b": 1\n")
        for words in (("train", "--config", "c.yaml"), ("train", "--out", evil), ("tokenize", evil, "--out", "y"),
                      ("data", evil), ("generate", "--init", evil), (evil,), ("train", b"--" + evil),
                      ("sweep", "--lr", evil, "--out", "s"), ("report", evil), ("eval", "--init", evil)):
            done = subprocess.run([MOUSSE, *words], cwd=self.folder, capture_output=True, timeout=600)
            self.assertNotEqual(done.returncode, 0, words)
            text = (done.stdout + done.stderr).decode(errors="replace")
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f]", words)

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MOUSSE, "--help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write to standard output", done.stderr)

    def test_manual_page_is_complete(self):
        page = self.output("help", "--man").decode()
        for part in ("DESCRIPTION", "OPTIMIZERS", "PRESETS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"):
            self.assertIn(f"\n.SH {part}\n", page)
        for text in ("OMP_NUM_THREADS", "newton_schulz", "834M", "\n.B 130\n", "\n.B 143\n", "metrics.jsonl"):
            self.assertIn(text, page)

    def test_manual_page_is_current(self):
        with open(os.path.join(ROOT, "docs", "mousse.1"), "rb") as file:
            self.assertEqual(file.read(), self.output("help", "--man"),
                             "run: mousse help --man > docs/mousse.1")


unittest.main()
