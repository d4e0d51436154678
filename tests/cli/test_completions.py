"""Prompts and completions from JSON lines to a loss: what is learned, what is scored, what is refused."""
import json
import os
import random
import struct
import unittest

from program import ProgramTest


class Completions(ProgramTest):
    def lines(self, name, pairs):
        self.write(name, "".join(json.dumps({"prompt": p, "completion": c}) + "\n" for p, c in pairs).encode())

    def tokenize(self, name, out, *more):
        self.run_mousse("tokenize", name, "--completion-field", "completion", "--out", out, "--quiet", *more)

    def shard(self, name):
        """Tokens and whether they are learned."""
        data, bits = self.read(name + ".bin"), self.read(name + ".targets")
        count = struct.unpack("<3i", data[:12])[2]
        self.assertEqual(struct.unpack("<3i", bits[:12]), (20261116, 1, count))
        return [(token, bits[1024 + i // 8] >> i % 8 & 1)
                for i, token in enumerate(struct.unpack(f"<{count}H", data[1024:]))]

    def test_only_completions_are_targets(self):
        self.lines("a.jsonl", [("Say it: ", "yes"), ("", "no"), ("Now: ", "é")])
        self.tokenize("a.jsonl", "data", "--val-fraction", "0")
        end = json.loads(self.read("data/manifest.json"))["end_of_text"]
        expected = []
        for prompt, completion in ("Say it: ", "yes"), ("", "no"), ("Now: ", "é"):
            expected += [(end, 1)] + [(b, 0) for b in prompt.encode()] + [(b, 1) for b in completion.encode()]
        self.assertEqual(self.shard("data/text_train_000000"), expected)
        again = self.run_mousse("tokenize", "a.jsonl", "--completion-field", "completion", "--val-fraction", "0", "--out", "data")
        self.assertIn(b"already complete", again.stdout)
        self.failure(1, "tokenize", "a.jsonl", "--field", "prompt", "--val-fraction", "0", "--out", "data")

    def test_pairs_stay_together(self):
        draw = random.Random(3)
        pairs = [(f"<{i}>" + "p" * draw.randrange(200), "c" * draw.randrange(1, 200) + f"</{i}>") for i in range(300)]
        self.lines("a.jsonl", pairs)
        self.tokenize("a.jsonl", "data", "--val-fraction", "0.2")
        found = []
        for split in "train", "val":
            tokens = self.shard(f"data/text_{split}_000000")
            end = tokens[0][0]
            for part in bytes(t if t != end else 0 for t, _ in tokens).split(b"\0")[1:]:
                found.append(part.decode())
        self.assertEqual(sorted(found), sorted(p + c for p, c in pairs))

    def test_training_learns_completions_only(self):
        """Prompts are noise: only what can be learned is scored, so the loss falls far below noise."""
        draw = random.Random(5)
        noise = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(40)) for _ in range(300)]
        self.lines("a.jsonl", [(n, "==yes==") for n in noise])
        self.tokenize("a.jsonl", "data", "--val-fraction", "0.1")
        options = ["--data-dir", "data", "--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--n-head", "2",
                   "--sequence-length", "64", "--batch-size", "8", "--num-iterations", "60", "--val-loss-every", "30"]
        self.run_mousse("train", *options, "--out", "run", "--separate-documents", "--quiet")
        result = json.loads(self.output("eval", "--init", "run", "--json"))
        self.assertLess(result["loss"], 1.0)  # noise alone has log(26) = 3.3
        windows = json.loads(self.output("data", "data", "--json"))["val"]["tokens"]
        self.assertLess(result["tokens"], windows / 2)
        last = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        scored = [line["val_loss"] for line in last if "val_loss" in line]
        self.assertLess(scored[-1], scored[0])
        self.assertAlmostEqual(scored[-1], result["loss"], 5)  # documents are kept apart, as the run does it
        crossing = json.loads(self.output("eval", "--init", "run", "--data-dir", "data", "--json"))
        apart = json.loads(self.output("eval", "--init", "run", "--data-dir", "data", "--separate-documents", "--json"))
        self.assertNotEqual(crossing["loss"], result["loss"])
        self.assertEqual(apart["loss"], result["loss"])

    def test_what_is_refused(self):
        self.write("a.txt", b"text")
        self.assertIn("JSON lines", self.failure(3, "tokenize", "a.txt", "--completion-field", "c", "--out", "data"))
        self.write("a.jsonl", b'{"prompt": "x"}\n')
        self.assertIn("no text in field 'c'", self.failure(3, "tokenize", "a.jsonl", "--completion-field", "c", "--out", "data"))
        self.assertFalse(os.path.exists(self.path("data")))
        self.lines("b.jsonl", [("a", "b" * 40)] * 20)
        self.tokenize("b.jsonl", "data", "--val-fraction", "0")
        self.write("data/text_train_000000.targets", self.read("data/text_train_000000.targets")[:-1])
        self.assertIn("tokenize the data again", self.failure(3, "train", "--data-dir", "data", "--sequence-length", "8", "--out", "run"))


if __name__ == "__main__":
    unittest.main()
