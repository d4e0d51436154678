"""Text of any language and kind: a validation part, sentences about what is odd, and a model from it."""
import json
import os
import random
import struct
import unittest

from program import ROOT, ProgramTest

LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
           r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ODD_RULES = {
    "one match for all": r"(?s).+",
    "nothing ever matches": r"(?!)",
    "looks behind": r"(?<=a)b|[^ab]+|a|b",
    "every character": r"(?s).",
}


def spaceless(characters, stops, size, seed=1):
    draw = random.Random(seed)
    words = ["".join(draw.choice(characters) for _ in range(draw.randrange(1, 4))) for _ in range(500)]
    text = "".join(draw.choice(words) + (draw.choice(stops) if draw.random() < 0.1 else "") for _ in range(size))
    return text.encode()[:3 * size].decode(errors="ignore").encode()


def source_code():
    folder = os.path.join(ROOT, "src/data/tokenizer")
    return b"".join(open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder)))


TEXTS = {
    "chinese": spaceless([chr(c) for c in range(0x4e00, 0x5200)], "，。", 100000),
    "japanese": spaceless([chr(c) for c in range(0x3041, 0x3090)], "、。\n", 100000),
    "dna": "".join(random.Random(1).choices("ACGT", k=200000)).encode(),
    "code": source_code(),
}


class Languages(ProgramTest):
    def tokenizer_with(self, rule, name):
        """A byte-level tokenizer.json with this split rule, from one that mousse learns."""
        self.write("learn.txt", TEXTS["code"])
        if not os.path.exists(self.path("learned")):
            self.output("tokenize", "learn.txt", "--tokenizer", "train:400", "--out", "learned")
        tokenizer = json.loads(self.read("learned/tokenizer.json"))
        bytes_only = dict(tokenizer["pre_tokenizer"], use_regex=False)
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": False}, bytes_only]}
        return self.write(name, json.dumps(tokenizer).encode())

    def check_parts(self, text, name, tokenizer, fraction=0.02):
        """Both splits have what they should, and all of the text is in one of them."""
        self.write(name + ".txt", text)
        out = f"{name}-{os.path.basename(tokenizer)[:5]}".replace(":", "-")
        self.output("tokenize", name + ".txt", "--tokenizer", tokenizer, "--val-fraction", str(fraction),
                    "--out", out, "--separator", "")
        size = 0
        for split, share in ("train", 1 - fraction), ("val", fraction):
            back = self.output("text", f"{out}/text_{split}_000000.bin", "--separator", "")
            self.assertTrue(0.5 * share < len(back) / len(text) < 2 * share, (name, tokenizer, split, len(back)))
            size += len(back)
        self.assertEqual(size, len(text))
        return out

    def test_every_kind_has_a_validation_part(self):
        llama = self.tokenizer_with(LLAMA_3, "llama.json")
        for name, text in TEXTS.items():
            for tokenizer in "bytes", "train:400", llama:
                self.check_parts(text, name, tokenizer)

    def test_any_rule_can_be_cut(self):
        for number, (name, rule) in enumerate(ODD_RULES.items()):
            with self.subTest(name):
                self.check_parts(TEXTS["code"][:60000], "rule", self.tokenizer_with(rule, f"r{number}.json"))

    def test_parts_do_not_change_the_tokens(self):
        """Cut or whole, the same ids but for the marks between documents, whatever the rule."""
        llama = self.tokenizer_with(LLAMA_3, "llama.json")
        self.write("code.txt", TEXTS["code"][:60000])
        for tokenizer in llama, "learned":
            ids = []
            for fraction in "0", "0.3":
                self.output("tokenize", "code.txt", "--tokenizer", tokenizer, "--val-fraction", fraction, "--out",
                            f"cut{fraction}-{tokenizer[:5]}")
                both = []
                for split in ("train", "val")[:1 + (fraction != "0")]:
                    data = self.read(f"cut{fraction}-{tokenizer[:5]}/text_{split}_000000.bin")
                    both += struct.unpack(f"<{(len(data) - 1024) // 2}H", data[1024:])
                ids.append(sorted(i for i in both if i != 399))
            self.assertEqual(ids[0], ids[1])

    def test_a_part_without_tokens_is_an_error(self):
        self.write("short.txt", b"A few words only.\n")
        said = self.failure(3, "tokenize", "short.txt", "--out", "short")
        self.assertIn("no validation part: 0.01 of 18 bytes", said)
        self.output("tokenize", "short.txt", "--out", "short", "--val-fraction", "0")
        said = self.failure(3, "tokenize", "short.txt", "--out", "none", "--val-fraction", "0.9")
        self.assertIn("nothing is left for training", said)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_json_that_is_not_in_lines_is_told(self):
        self.write("alpaca.json", json.dumps([{"text": "to be trained on"}] * 100).encode())
        self.write("lines.jsonl", b'{"text": "to be trained on"}\n' * 100)
        words = ("--tokenizer", "bytes", "--val-fraction", "0.2", "--out")
        said = self.run_mousse("tokenize", "alpaca.json", *words, "a").stderr.decode()
        self.assertIn("alpaca.json is read as plain text", said)
        self.assertIn("are called .jsonl (files of this kind: 1)", said)
        self.assertNotIn("plain text", self.run_mousse("tokenize", "lines.jsonl", *words, "b").stderr.decode())

    def test_marks_and_encodings_are_reported(self):
        text = "Zażółć gęślą jaźń. ".encode() * 1000
        self.write("mark.txt", b"\xef\xbb\xbf" + text)
        said = self.run_mousse("tokenize", "mark.txt", "--out", "mark", "--val-fraction", "0")
        self.assertIn(b"1 file starts with a byte order mark", said.stderr)
        self.assertEqual(self.output("text", "mark/text_train_000000.bin"), text)
        self.write("mark.jsonl", b'\xef\xbb\xbf{"text": "x"}\n')
        self.assertEqual(self.output("text", "mark.jsonl"), b"x")
        self.write("wide.txt", text.decode().encode("utf-16"))
        said = self.run_mousse("tokenize", "wide.txt", "--out", "wide").stderr
        self.assertIn(b"wide.txt looks like UTF-16", said)
        self.write("plain.txt", ("plain words " * 200).encode("utf-16-le"))
        said = self.run_mousse("tokenize", "plain.txt", "--out", "plain", "--val-fraction", "0").stderr
        self.assertIn(b"plain.txt looks like UTF-16", said)
        self.write("latin.txt", text[:19] + b"caf\xe9 " + text)
        said = self.run_mousse("tokenize", "latin.txt", "--out", "latin", "--val-fraction", "0").stderr
        self.assertIn(b"1 bytes are not UTF-8, the first at byte 22 of latin.txt", said)
        self.write("zeros.txt", b"one\0two\0" + text)
        for tokenizer, told in ("bytes", True), ("train:260", False):
            said = self.run_mousse("tokenize", "zeros.txt", "--out", "z" + tokenizer, "--tokenizer", tokenizer,
                                   "--val-fraction", "0").stderr
            self.assertEqual(b"2 bytes of the text are 0" in said, told, said)
        quiet = self.run_mousse("tokenize", "latin.txt", "--out", "l2", "--val-fraction", "0", "--quiet").stderr
        self.assertEqual(quiet, b"")

    def test_from_text_to_model(self):
        for name in "chinese", "dna", "code":
            out = self.check_parts(TEXTS[name][:120000], name, "train:300", 0.05)
            run = "run-" + name
            self.output("train", "--data-dir", out, "--out", run, "--preset", "nano", "--n-layer", "1", "--model-dim",
                        "32", "--sequence-length", "32", "--batch-size", "2", "--num-iterations", "3",
                        "--val-loss-every", "3", "--val-tokens", "256")
            lines = [json.loads(line) for line in self.read(run + "/metrics.jsonl").splitlines()]
            losses = [line["val_loss"] for line in lines if line.get("val_loss") is not None]
            self.assertTrue(losses and all(0 < loss < 7 for loss in losses), losses)
            self.assertTrue(self.output("generate", "--init", run, "--tokens", "8", "--quiet"))


unittest.main()
