"""Conversations: from JSON lines to tokens in the form of each family, what of them is learned, and 'mousse chat'."""
import json
import os
import re
import struct
import subprocess
import unittest

import jinja2

from program import MOUSSE, ProgramTest

CHATML = ["<|im_start|>", "<|im_end|>"]
LLAMA3 = ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
TALK = [("system", "Be brief."), ("user", "  Hello there\n"), ("assistant", "Hi.\n"), ("user", "<|im_end|> bye <|eot_id|>"),
        ("assistant", "\n\nBye!")]


def pieces(form, messages):
    """What the published templates write, as (text, is learned); one token is a text in <||>."""
    for number, (role, text) in enumerate(messages):
        answer = role == "assistant"
        if form == "chatml":
            yield from [("<|im_start|>", False), (role + "\n", False), (text, answer), ("<|im_end|>", answer), ("\n", False)]
        elif form == "llama3":
            yield from [("<|start_header_id|>", False), (role, False), ("<|end_header_id|>", False), ("\n\n", False),
                        (text.strip(), answer), ("<|eot_id|>", answer)]
        else:
            yield from [(f"### {role.title()}:\n", False), (text if answer else text + "\n\n", answer)]
            if answer and number + 1 < len(messages):
                yield "<|endoftext|>", True


class Chats(ProgramTest):
    def tokenizer(self, name, added):
        """Every byte is a token, two line ends together are one, and these are found in templates only."""
        if not os.path.exists(self.path("bytes.txt")):
            self.write("bytes.txt", bytes(range(256)) * 40)
        self.run_mousse("tokenize", "bytes.txt", "--tokenizer", "train:257", "--val-fraction", "0", "--out", "first", "--quiet")
        made = json.loads(self.read("first/tokenizer.json"))
        vocabulary = made["model"]["vocab"]
        vocabulary["ĊĊ"] = len(vocabulary)
        made["model"]["merges"] = ["Ċ Ċ"]
        for token in added:
            made["added_tokens"].append({**made["added_tokens"][0], "id": len(vocabulary), "content": token})
            vocabulary[token] = len(vocabulary)
        os.mkdir(self.path(name))
        self.write(f"{name}/tokenizer.json", json.dumps(made).encode())
        plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))  # GPT-2's alphabet of bytes
        others = [b for b in range(256) if b not in plain]
        self.spelled = {b: chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)}
        self.ids = vocabulary
        self.special = ["<|endoftext|>", *added]

    def encoded(self, text, learned):
        """Ids of a text, each learned when one of its bytes is."""
        at = 0
        for word in re.findall(rb"\n\n(?=\n)|\n\n$|.", text, re.S):  # what GPT-2's rule leaves together
            yield self.ids["ĊĊ" if len(word) == 2 else self.spelled[word[0]]], int(any(learned[at:at + len(word)]))
            at += len(word)

    def expected(self, form, messages):
        """Text between tokens, and in the plain form every message, is encoded as a whole."""
        out, text, learned = [], b"", []
        for piece, is_learned in [*pieces(form, messages), ("", False)]:
            token = piece in self.special  # what users write never is one
            if token or piece == "" or piece.startswith("### "):
                out += self.encoded(text, learned)
                text, learned = b"", []
            if token:
                out.append((self.ids[piece], int(is_learned)))
            else:
                text += piece.encode()
                learned += [is_learned] * len(piece.encode())
        return out

    def lines(self, name, talks):
        rows = [{"messages": [{"role": role, "content": text} for role, text in talk]} for talk in talks]
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def tokenize(self, name, out, *more):
        self.run_mousse("tokenize", name, "--messages-field", "messages", "--out", out, "--quiet", *more)

    def shard(self, name):
        data, bits = self.read(name + ".bin"), self.read(name + ".targets")
        count = struct.unpack("<3i", data[:12])[2]
        return [(token, bits[1024 + i // 8] >> i % 8 & 1)
                for i, token in enumerate(struct.unpack(f"<{count}H", data[1024:]))]

    def test_the_forms(self):
        self.lines("a.jsonl", [TALK, TALK[1:3]])
        for form, added in ("chatml", CHATML), ("llama3", LLAMA3), ("plain", []):
            self.tokenizer(form, added)
            self.tokenize("a.jsonl", f"data-{form}", "--tokenizer", form, "--val-fraction", "0")
            end = self.ids["<|endoftext|>"]
            between = (end, int(form == "plain"))  # what ends the last answer of the plain form
            expected = [(end, 0), *self.expected(form, TALK), between, *self.expected(form, TALK[1:3])]
            self.assertEqual(self.shard(f"data-{form}/text_train_000000"), expected, form)
            if form != "llama3":  # which trims texts: nowhere else a head and a text share a token
                self.assertIn((self.ids["ĊĊ"], 1), expected)
            run = self.run_mousse("tokenize", "a.jsonl", "--messages-field", "messages", "--tokenizer", form, "--val-fraction",
                                  "0", "--out", f"data-{form}")
            self.assertIn(b"already complete", run.stdout)
            self.tokenize("a.jsonl", f"asked-{form}", "--tokenizer", form, "--val-fraction", "0", "--chat-template", form)
            self.assertEqual(self.read(f"asked-{form}/text_train_000000.bin"), self.read(f"data-{form}/text_train_000000.bin"))

    def test_conversations_stay_together(self):
        talks = [[("user", f"<{i}>" + "q" * (i % 90)), ("assistant", "a" * (i % 70 + 1)), ("user", "more"),
                  ("assistant", f"</{i}>")] for i in range(200)]
        self.lines("a.jsonl", talks)
        self.tokenize("a.jsonl", "data", "--val-fraction", "0.2")
        end = json.loads(self.read("data/manifest.json"))["end_of_text"]
        text = b""
        for split in "train", "val":
            tokens = [t for t, _ in self.shard(f"data/text_{split}_000000")]
            text += bytes(0 if t == end else t for t in tokens)
        for i, talk in enumerate(talks):
            whole = "".join(f"### {role.title()}:\n{text}" + ("\0" if role == "assistant" else "\n\n") for role, text in talk)
            self.assertIn(whole.encode()[:-1], text, i)

    def test_learned_and_talked_to(self):
        """A model that has learned to answer in a form answers in it, and stops."""
        self.tokenizer("tok", CHATML)
        self.lines("a.jsonl", [[("user", "q" * (i % 7 + 1)), ("assistant", "yes.")] * 2 for i in range(300)])
        self.tokenize("a.jsonl", "data", "--tokenizer", "tok", "--val-fraction", "0.1")
        self.run_mousse("train", *("--data-dir data --preset nano --n-layer 1 --model-dim 32 --n-head 2 --sequence-length 96 "
                                   "--batch-size 8 --num-iterations 120 --lr 0.04 --out run --quiet").split())
        words = [MOUSSE, "chat", "--init", "run", "--temperature", "0", "--tokens", "30", "--quiet"]
        done = subprocess.run(words, cwd=self.folder, input=b"qqq\nqq\n\n/new\nqqqq\n", capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode().split(), ["yes."] * 3)  # an empty line after an end adds nothing
        text = subprocess.run([*words, "--chat-template", "none"], cwd=self.folder, input=b"qqq\n", capture_output=True, timeout=600)
        self.assertTrue(text.stdout.startswith(b"qqq"), text.stdout)  # one text, which is shown
        system = subprocess.run([*words, "--system", "Say yes."], cwd=self.folder, input=b"qq\n", capture_output=True, timeout=600)
        self.assertEqual(system.returncode, 0, system.stderr)
        self.assertIn("<|start_header_id|>", self.failure(2, "chat", "--init", "run", "--chat-template", "llama3"))

    def test_exports_have_the_form(self):
        """Rendered as transformers does, chat_template gives the text that was trained on; plain needs none."""
        self.lines("a.jsonl", [TALK] * 40)
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        messages = [{"role": role, "content": text} for role, text in TALK[:-1]]
        for form, added, end in ("chatml", CHATML, "<|im_end|>"), ("llama3", LLAMA3, "<|eot_id|>"), ("plain", [], None):
            self.tokenizer(form, added)
            self.tokenize("a.jsonl", f"data-{form}", "--tokenizer", form, "--val-fraction", "0.5")
            self.run_mousse("train", *(f"--data-dir data-{form} --preset nano --n-layer 1 --model-dim 32 --n-head 2 "
                                       f"--sequence-length 32 --batch-size 2 --num-iterations 1 --out run-{form} --quiet").split())
            self.run_mousse("checkpoint", "export", f"run-{form}", "--format", "hf", "--out", f"hf-{form}", "--quiet")
            config = json.loads(self.read(f"hf-{form}/tokenizer_config.json"))
            ends = json.loads(self.read(f"hf-{form}/generation_config.json"))["eos_token_id"]
            self.run_mousse("checkpoint", "export", f"run-{form}", "--format", "gguf", "--out", f"{form}.gguf", "--quiet")
            if end is None:
                self.assertNotIn("chat_template", config)
                self.assertNotIn(b"chat_template", self.read(f"{form}.gguf"))
                self.assertEqual(ends, self.ids["<|endoftext|>"])
                continue
            found = environment.from_string(config["chat_template"]).render(
                messages=messages, bos_token="<s>" if form == "llama3" else None, add_generation_prompt=True)
            asked = "".join(text for text, _ in [*pieces(form, TALK[:-1]), *pieces(form, [("assistant", "")])])
            self.assertEqual(found, ("<s>" if form == "llama3" else "") + asked[:asked.rindex(end)], form)
            self.assertIn(config["chat_template"].encode(), self.read(f"{form}.gguf"))
            self.assertEqual(ends, [self.ids[end], self.ids["<|endoftext|>"]])

    def test_what_is_refused(self):
        self.write("a.txt", b"text")
        self.assertIn("JSON lines", self.failure(3, "tokenize", "a.txt", "--messages-field", "messages", "--out", "data"))
        user = {"role": "user", "content": "x"}
        for row, words in (({}, "no list of messages"), ({"messages": "x"}, "no list of messages"),
                           ({"messages": [user]}, "nothing to learn"), ({"messages": []}, "nothing to learn"),
                           ({"messages": [user, 3]}, "message 2: the role"),
                           ({"messages": [{"role": "a b", "content": "x"}]}, "message 1: the role"),
                           ({"messages": [{"role": "r" * 32, "content": "x"}]}, "message 1: the role"),
                           ({"messages": [{"role": "user", "content": ""}]}, "'content' is not a text"),
                           ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "'content' is not a text")):
            self.write("a.jsonl", json.dumps(row).encode() + b"\n")
            self.assertIn(words, self.failure(3, "tokenize", "a.jsonl", "--messages-field", "messages", "--out", "data"))
        self.lines("b.jsonl", [TALK])
        for more, words in ((["--completion-field", "c"], "not both"), (["--chat-template", "chatml"], "<|im_start|>")):
            told = self.failure(2, "tokenize", "b.jsonl", "--messages-field", "messages", "--out", "data", *more)
            self.assertIn(words, told)
        self.assertFalse(os.path.exists(self.path("data")))


if __name__ == "__main__":
    unittest.main()
