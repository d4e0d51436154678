"""Small files cost little memory and time, whatever is in them; special files are refused."""
import gzip
import json
import os
import resource
import subprocess
import unittest

from program import MOUSSE, ProgramTest

MOST_KILOBYTES = 400000  # of any call here, under a sanitizer too; a plain one takes about 25,000


class SmallInputs(ProgramTest):
    def call(self, status, *words):
        """What it says; it must end by itself, within some memory and a minute of the processor."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        process = subprocess.Popen([MOUSSE, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=limit)
        said = process.stderr.read().decode(errors="replace")
        process.stderr.close()
        _, ended, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
        self.assertEqual(process.returncode, status, said)
        self.assertLess(usage.ru_maxrss, MOST_KILOBYTES, said)
        return said

    def pack(self, name, data):
        self.write(name, data)
        subprocess.run(["zstd", "-q", "--rm", self.path(name)], check=True)
        return name + ".zst"

    def tokenizer_with(self, rule):
        if not os.path.exists(self.path("learned")):
            self.write("learn.txt", b"a few words to learn from, again and again. " * 100)
            self.output("tokenize", "learn.txt", "--out", "learned", "--tokenizer", "train:260",
                        "--val-fraction", "0")
        tokenizer = json.loads(self.read("learned/tokenizer.json"))
        bytes_only = dict(tokenizer["pre_tokenizer"], use_regex=False)
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": False}, bytes_only]}
        return self.write("rule.json", json.dumps(tokenizer).encode())

    def test_packed_text(self):
        name = self.pack("a.txt", b"a" * 80_000_000)
        self.assertIn("more than 2000 times its size", self.call(3, "tokenize", name, "--out", "a"))
        self.write("b.txt.gz", gzip.compress(b"a" * 20_000_000))  # one word; within any ratio
        self.call(0, "tokenize", "b.txt.gz", "--tokenizer", "bytes", "--out", "b")
        self.tokenizer_with("(?s).+")
        self.call(0, "tokenize", "b.txt.gz", "--tokenizer", "rule.json", "--out", "c")

    def test_json_lines(self):
        name = self.pack("a.jsonl", b'{"x": [' + b"{}," * 2_000_000 + b'{}], "text": "a"}\n')
        self.assertIn("more than 100000 JSON values", self.call(3, "tokenize", name, "--out", "a"))
        self.write("b.jsonl.gz", gzip.compress(b'{"text": "' + b"a" * 70_000_000 + b'"}\n', 1))
        self.assertIn("line 1 is longer than", self.call(3, "tokenize", "b.jsonl.gz", "--out", "b"))

    def test_zeros_after_gzip(self):
        self.write("a.txt.gz", gzip.compress(b"one ") + gzip.compress(b"two") + bytes(10000))
        self.assertEqual(self.output("text", "a.txt.gz"), b"one two")
        self.write("b.txt.gz", gzip.compress(b"one ") + bytes(5) + b"junk")
        self.assertIn("damaged gzip", self.call(3, "text", "b.txt.gz"))

    def test_split_rules(self):
        self.write("a.txt", b"a" * 200_000)
        settings = self.tokenizer_with("(*NO_JIT)(?:a|b)+z|" + "(q)" * 3000)
        said = self.call(3, "tokenize", "a.txt", "--tokenizer", settings, "--out", "a", "--val-fraction", "0")
        self.assertIn("rule.json: split rule", said)
        self.assertIn("(*...), are not allowed", said)
        greedy = self.tokenizer_with("(?:a|b)+z|" + "(q)" * 3000)
        said = self.call(3, "tokenize", "a.txt", "--tokenizer", greedy, "--out", "a", "--val-fraction", "0")
        self.assertIn("tokenizer 'rule.json': the split rule fails on this text", said)
        square = self.tokenizer_with("(?s)a(?=.*z)|.")
        self.call(0, "tokenize", "a.txt", "--tokenizer", square, "--out", "b", "--val-fraction", "0")

    def test_tokenizer_files(self):
        self.write("a.txt", b"text " * 1000)
        self.write("t.json", b'{"model": {"type": "BPE", "vocab": {}, "merges": [' + b"{}," * 8_000_000 + b"{}]}}")
        self.assertIn("JSON values", self.call(3, "tokenize", "a.txt", "--tokenizer", "t.json", "--out", "a"))
        self.write("manifest.json", b"[" + b"{}," * 8_000_000 + b"{}]")
        self.assertIn("JSON values", self.call(3, "data", "."))

    def test_configurations(self):
        """libyaml takes quadratic time over what is nested or named; such files are refused where that begins."""
        for text, said in ((b"lr: " + b"[" * 1_000_000, "expected at most 65536"),
                           (b"lr: " + b"[" * 60_000, "line 1: "),
                           (b"lr: [" + b",".join(b"&%d x" % i for i in range(7000)) + b"]\n", "anchors and aliases")):
            self.write("c.yaml", text)
            for words in (("train", "--config", "c.yaml", "--dry-run"), ("sweep", "c.yaml", "--out", "s")):
                self.assertIn(said, self.call(2, *words), words)

    def test_special_files(self):
        for name in "x_train_000000.bin", "manifest.json", "tokenizer.json":
            os.mkfifo(self.path(name))
            self.assertIn("not a regular file", self.call(1, "data", "."))
            os.unlink(self.path(name))
            os.symlink("/dev/zero", self.path(name))
            self.assertIn("not a regular file", self.call(1, "data", "."))
            os.unlink(self.path(name))

    def test_special_files_as_models(self):
        self.timeout = 60
        os.mkfifo(self.path("pipe"))
        for command in ("generate", "--init", "pipe"), ("checkpoint", "export", "pipe", "--out", "x"):
            self.assertIn("pipe", self.run_mousse(*command, status=1).stderr.decode())
        os.mkdir(self.path("model"))
        self.write("model/config.json", b"{}")
        os.mkfifo(self.path("model/model.safetensors"))
        self.run_mousse("generate", "--init", "model", status=3)
        self.write("model/config.json", b'{"model_type": "gpt2", "vocab_size": 300, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 1}')
        os.unlink(self.path("model/model.safetensors"))
        os.mkfifo(self.path("model/model.safetensors.index.json"))
        for name in "model.safetensors.index.json", "config.json":
            if name == "config.json":
                os.unlink(self.path("model/config.json"))
                os.mkfifo(self.path("model/config.json"))
            said = self.run_mousse("generate", "--init", "model", status=1).stderr.decode()
            self.assertIn(f"{name}: is not a regular file", said)

    def test_pipes_are_read_once(self):
        os.mkfifo(self.path("pipe"))
        said = self.call(2, "tokenize", "pipe", "--tokenizer", "train:300", "--out", "a")
        self.assertIn("pipe: not a regular file, but --tokenizer train:SIZE reads the text twice", said)


unittest.main()
