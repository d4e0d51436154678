"""A model trained with adapters is, for whoever reads it, the model that they are merged into."""
import json
import unittest

from program import ProgramTest


class Adapters(ProgramTest):
    def train(self, out, *more):
        self.run_mousse("train", "--data-dir", "data", "--preset", "gpt2", "--n-layer", "2", "--model-dim", "32", "--n-head", "2",
                        "--sequence-length", "32", "--batch-size", "4", "--num-iterations", "6", "--lr", "0.05", "--out", out,
                        "--quiet", *more)

    def loss(self, model, *more):
        return json.loads(self.output("eval", "--init", model, "--data-dir", "data", "--json", *more))["loss"]

    def setUp(self):
        super().setUp()
        self.write("a.txt", b"the cat sat on the mat and ran to the old house again. " * 60)
        self.run_mousse("tokenize", "a.txt", "--tokenizer", "train:280", "--val-fraction", "0.2", "--out", "data", "--quiet")

    def test_every_reader_merges(self):
        self.train("base")
        self.train("run", "--init", "base", "--lora-rank", "4", "--sample-every", "3", "--ema", "0.5")
        losses = {self.loss("run")}
        for form in "mousse", "hf", "llmc":
            self.run_mousse("checkpoint", "export", "run", "--format", form, "--out", form)
            losses.add(self.loss(form))
        self.run_mousse("checkpoint", "export", "run", "--format", "gguf", "--out", "model.gguf")
        self.assertEqual(len(losses), 1, losses)
        self.assertNotEqual(losses.pop(), self.loss("base"))
        self.assertNotIn(b"lora", self.read("mousse/config.json") + self.read("hf/config.json"))
        text = self.output("generate", "--init", "run", "--prompt", "the", "--tokens", "8", "--temperature", "0", "--quiet")
        self.assertEqual(text, self.output("generate", "--init", "hf", "--prompt", "the", "--tokens", "8", "--temperature", "0",
                                           "--quiet"))

    def test_plan_says_what_is_trained(self):
        shown = self.output("train", "--data-dir", "data", "--preset", "tiny", "--lora-rank", "4", "--dry-run").decode()
        self.assertIn("trained: ", shown)
        self.assertIn("--recompute on saves", shown)
        rows = json.loads(self.output("params", "--preset", "tiny", "--lora-rank", "4", "--lora-targets", "c_q", "--optimizer",
                                      "mousse", "--json"))["tensors"]
        for row in rows:
            self.assertEqual(row["algorithm"], "mousse" if ".lora_" in row["name"] else "frozen", row["name"])
            self.assertEqual(row["state_bytes"] > 0, ".lora_" in row["name"], row["name"])
        self.assertEqual(sum(".lora_" in row["name"] for row in rows), 12)
        self.assertIn("optimizer  muon for the adapters\n", self.output("plan", "--preset", "tiny", "--lora-rank", "4", "--gflops",
                                                                       "9").decode())
        self.assertIn("frozen already", self.failure(2, "params", "--preset", "tiny", "--lora-rank", "4", "--freeze", "wte"))


if __name__ == "__main__":
    unittest.main()
