"""Every command ends with what one would do next, which works as it stands; tables fit the terminal."""
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

from program import MOUSSE, ProgramTest

TRAIN = ("--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "32", "--batch-size", "2",
         "--num-iterations", "4", "--checkpoint-freq", "2", "--val-loss-every", "2", "--data-dir", "data/book")


class Guidance(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """One folder for all tests, which only add to it: data, a run, a sweep."""
        cls.shared = tempfile.mkdtemp(prefix="mousse-test-")
        with open(os.path.join(cls.shared, "book.txt"), "w") as file:
            file.writelines(f"line {i} has some words, and they are its own.\n" for i in range(4000))
        cls.first = [cls.call("tokenize", "book.txt", "--tokenizer", "train:300", "--out", "data/book"),
                     cls.call("train", *TRAIN, "--out", "runs/it's a book"),
                     cls.call("sweep", *TRAIN, "--lr", "0.01,0.02", "--out", "sweeps/lr")]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    @classmethod
    def call(cls, *words, **environment):
        return subprocess.run([MOUSSE, *words], cwd=cls.shared, capture_output=True, text=True, errors="replace",
                              timeout=600, stdin=subprocess.DEVNULL, env={**os.environ, **environment})

    def done(self, *words, **environment):
        process = self.call(*words, **environment)
        self.assertEqual(process.returncode, 0, (words, process.stderr))
        return process

    def suggestions(self, process):
        self.assertNotIn("next:", process.stdout)
        self.assertRegex(process.stderr, r"(?m)^next: .", process.args)
        return process.stderr.split("next: ")[1].rstrip("\n").split("\n      ")

    def follow(self, suggestion):
        """Does what is suggested; training is only looked at, since that takes its time."""
        words = shlex.split(suggestion)
        if words[0] in ("open", "llama-cli"):
            path = words[1] if words[0] == "open" else words[2]
            self.assertTrue(os.path.exists(os.path.join(self.shared, path)), suggestion)
            return
        if words[0] == "mpirun":
            words = words[3:]
        self.assertEqual(words[0], MOUSSE, suggestion)
        words = [{"DATA": "data/book", "RUN": "runs/it's a book", "TEXT": "book.txt"}.get(w, w) for w in words[1:]]
        if words[0] in ("train", "sweep", "reproduce"):
            words += ["--dry-run"]
        if "--out" in words:  # what was made once is not in the way of the next test
            words[words.index("--out") + 1] += "" if words[0] == "train" else tempfile.mktemp(dir="")
        self.done(*words)

    def test_every_command_says_what_comes_next(self):
        run = "runs/it's a book"
        calls = [("train", *TRAIN, "--dry-run"), ("train", "--preset", "nano", "--dry-run"),
                 ("sweep", *TRAIN, "--seed", "1,2", "--out", "sweeps/seeds", "--dry-run"),
                 ("reproduce", "verdict", "--scale", "smoke", "--dry-run", "--out", "paper"),
                 ("eval", "--init", run), ("generate", "--init", run, "--tokens", "3"), ("chat", "--init", run),
                 ("params", *TRAIN), ("params", "--out", run), ("plan", "--preset", "nano", "--gflops", "9"),
                 ("plan", "--model", "nano", "--gflops", "9", "--ranks", "2", "--data-dir", "data/book"),
                 ("checkpoint", "list", run), ("checkpoint", "verify", run),
                 ("checkpoint", "export", run, "--out", "model"),
                 ("checkpoint", "export", run, "--out", "model.gguf", "--format", "gguf"),
                 ("checkpoint", "branch", run + "@2", "--out", "runs/branch"),
                 ("tokenize", "book.txt", "--tokenizer", "train:300", "--out", "data/book"), ("data", "data/book"),
                 ("data", "data/book/text_val_000000.bin"), ("text", "book.txt"),
                 ("text", "book.txt", "--out", "again.txt"), ("text", "data/book/text_val_000000.bin"),
                 ("report", "runs"), ("report", "runs", "--text"), ("report", "sweeps", "--csv", "tables"),
                 ("report", "sweeps", "--json", "results.json"), ("report", "results.json")]
        for process in [*self.first, *(self.done(*words) for words in calls)]:
            for suggestion in self.suggestions(process):
                self.follow(suggestion)

    def test_what_cannot_write_is_not_asked_to(self):
        """Shards without a tokenizer, and llm.c's files, which have none."""
        bare = os.path.join(self.shared, "data/bare")
        shutil.copytree(os.path.join(self.shared, "data/book"), bare)
        os.remove(os.path.join(bare, "tokenizer.json"))
        self.done("train", "--preset", "gpt2", *TRAIN[2:], "--n-head", "2", "--data-dir", "data/bare", "--out", "bare/run")
        self.done("checkpoint", "export", "bare/run", "--out", "bare.bin", "--format", "llmc")
        for words in (("train", "--out", "bare/run"), ("eval", "--init", "bare/run"), ("checkpoint", "list", "bare/run"),
                      ("checkpoint", "export", "bare/run", "--out", "bare/model"), ("report", "bare"),
                      ("eval", "--init", "bare.bin", "--data-dir", "data/bare"),
                      ("eval", "--init", "bare.bin", "--data-dir", "data/book"),
                      ("generate", "--init", "bare.bin", "--tokenizer", "data/book", "--tokens", "2"),
                      ("chat", "--init", "bare.bin", "--tokenizer", "data/book")):
            process = self.done(*words)
            for suggestion in self.suggestions(process) if "next:" in process.stderr else ():
                self.follow(suggestion)
        self.assertIn("bare.bin --tokenizer data/book", self.done("eval", "--init", "bare.bin", "--data-dir", "data/book").stderr)

    def test_a_run_that_stops_says_how_to_go_on(self):
        words = [MOUSSE, "train", *TRAIN, "--num-iterations", "100000", "--out", "runs/long"]
        process = subprocess.Popen(words, cwd=self.shared, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        log = os.path.join(self.shared, "runs/long/metrics.jsonl")
        while not os.path.exists(log) or os.path.getsize(log) == 0:
            self.assertIsNone(process.poll())
        process.terminate()
        self.assertIn(f"next: {MOUSSE} train --out runs/long\n", process.communicate(timeout=600)[1])

    def test_a_plan_suggests_the_run_that_was_planned(self):
        shape = ("--n-layer", "1", "--model-dim=32", "--sequence-length", "32", "--data-dir", "data/book")
        asked = self.done("plan", "--model", "nano", "--batch=128", "--gflops=9", *shape, "--ranks", "2", "--latency", "5")
        self.assertEqual(self.suggestions(asked), [
            f"mpirun -n 2 {MOUSSE} train --preset nano --batch-size 4 " + " ".join(shape)])
        self.assertIn("0.03 M parameters: width 32, 1 layer", asked.stdout)
        of_run = self.done("plan", "--init", "runs/it's a book", "--gflops", "9", "--batch", "128")
        self.assertIn("width 32, 1 layer", of_run.stdout)
        self.assertIn("4 sequences, 128 tokens", of_run.stdout)
        self.assertEqual(self.suggestions(self.done("train", *TRAIN, "--dry-run=true", "--lr", "1")), [
            f"{MOUSSE} train {' '.join(TRAIN)} --lr 1"])

    def test_what_machines_read_is_only_that(self):
        run = "runs/it's a book"
        for words in (("eval", "--init", run, "--json"), ("params", *TRAIN, "--json"), ("data", "data/book", "--json"),
                      ("generate", "--init", run, "--tokens", "2", "--quiet"), ("report", "runs", "--quiet"),
                      ("completion", "bash"), ("version",), ("train", *TRAIN, "--out", run, "--json")):
            process = self.done(*words)
            self.assertNotIn("next:", process.stdout + process.stderr, words)

    def test_tables_fit(self):
        run = "runs/it's a book"
        calls = (("plan", "--model", "834M", "--batch", "2M", "--ranks", "8", "--gflops", "50"),
                 ("params", "--preset", "162M", "--optimizer", "soap"), ("checkpoint", "list", run),
                 ("help", "presets"), ("help", "optimizers"), ("help", "optimizers", "mousse"), ("help",),
                 ("train", "--help"), ("sweep", *TRAIN, "--lr", "0.01,0.02", "--out", "sweeps/lr", "--dry-run"),
                 ("report", "runs", "sweeps", "--text"), ("help", "reproduce"))
        for columns in 60, 80, 200:
            for words in calls:
                shown = self.done(*words, COLUMNS=str(columns)).stdout
                longest = max(shown.splitlines(), key=len)
                room = 80 if "help" in words[0] or "--help" in words else columns
                self.assertLessEqual(len(longest), room, (words, longest))

    def test_tables_for_other_programs_are_complete(self):
        """Neither a terminal nor COLUMNS says how wide it may be."""
        name = 3 * "a-name-that-is-longer-than-its-column-" + "b"
        self.done("train", *TRAIN, "--out", "runs/" + name)
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        for words, whole in ((("params", "--preset", "nano", "--optimizer", "mousse"), "transformer.h.0.attn.c_q.weight"),
                             (("report", "runs", "--text"), name), (("watch", "runs", "--terminal"), name)):
            process = subprocess.run([MOUSSE, *words], cwd=self.shared, capture_output=True, text=True, timeout=600,
                                     env=environment)
            self.assertIn(whole, process.stdout, words)
            self.assertNotIn("left out", process.stdout)

    def test_narrow_tables_tell_rows_apart(self):
        shown = self.done("params", "--preset", "162M", COLUMNS="60").stdout.splitlines()
        self.assertIn("(left out to fit: role, decay)", shown)
        rows = [line.split()[0] for line in shown[1:75]]
        self.assertEqual(len(set(rows)), 74)
        self.assertTrue(all(row.endswith(".weight") for row in rows), rows)
        wide = self.done("params", "--preset", "162M", COLUMNS="120").stdout
        self.assertIn("transformer.h.11.attn.c_proj.weight  hidden matrix", wide)
        self.assertRegex(wide, r"\n74 tensors, 162,201,600 parameters; optimizer: ")

    def test_steps_that_are_not_there(self):
        process = self.call("eval", "--init", "runs/it's a book@3")
        self.assertIn("has no checkpoint of step 3; it has 2, 4", process.stderr)


unittest.main()
