"""Text to shards and back; what is left after a kill; bad files."""
import bz2
import glob
import gzip
import io
import json
import lzma
import os
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import unittest
import zipfile

from program import MOUSSE, ProgramTest

WORDS = "the of and to in a is that for it as was with be by on not he's I'll 1811 naïve 東京 😀".split()


def made_word(draw):
    syllables = [a + b for a in "bdfklmnprst" for b in "aeiou"]
    return "".join(draw.choice(syllables) for _ in range(draw.randrange(1, 4)))


def prose(size, seed=1):
    draw = random.Random(seed)
    parts, length = [], 0
    while length < size:
        word = draw.choice(WORDS) if draw.random() < 0.5 else made_word(draw)
        parts.append(word + draw.choice(["", ".", ",\n", "\n\n", "  "]))
        length += len(parts[-1].encode()) + 1
    return " ".join(parts).encode()


class Tokenize(ProgramTest):
    def tokens(self, name):
        data = self.read(name)
        magic, version, count = struct.unpack("<3i", data[:12])
        self.assertEqual((magic, version), (20240520, 1))
        self.assertEqual(len(data), 1024 + 2 * count)
        return struct.unpack(f"<{count}H", data[1024:])

    def test_there_and_back(self):
        text = prose(100000)
        self.write("a.txt", text)
        for tokenizer in "bytes", "train:400":
            out = "out-" + tokenizer[:5]
            self.output("tokenize", "a.txt", "--tokenizer", tokenizer, "--out", out,
                        "--val-fraction", "0", "--name", "n")
            self.assertEqual(self.output("text", f"{out}/n_train_000000.bin"), text)
            self.assertFalse(os.path.exists(self.path(out + ".partial")))
            facts = json.loads(self.output("data", out, "--json"))
            self.assertEqual(facts["train"]["documents"], 1)
            self.assertIsNone(facts["val"])
            self.assertTrue(text.decode().startswith(facts["excerpt"]))
            self.assertEqual(facts["vocabulary"], 256 if tokenizer == "bytes" else 400)

    def test_documents_and_formats(self):
        self.write("a.txt", b"one\n<|endoftext|>\ntwo\n")
        self.write("b.jsonl.gz", gzip.compress(b'{"text": "three"}\n{"text": "four"}\n'))
        self.write("c.txt", b"five")
        subprocess.run(["zstd", "-q", "--rm", self.path("c.txt")], check=True)
        self.output("tokenize", "a.txt", "b.jsonl.gz", "c.txt.zst", "--out", "out", "--val-fraction", "0")
        ids = self.tokens("out/text_train_000000.bin")
        self.assertEqual(bytes(ids), b"\0one\n\0two\n\0three\0four\0five")
        self.assertEqual(self.output("text", "out/text_train_000000.bin", "--separator", "#"),
                         b"one\n#\ntwo\n#\nthree\n#\nfour\n#\nfive")
        self.assertEqual(self.output("text", "out/text_train_000000.bin", "--separator", ""),
                         b"one\ntwo\nthreefourfive")
        self.write("skip.zst", struct.pack("<2I", 0x184D2A5F, 4) + b"abcd" + self.read("c.txt.zst"))  # as of pzstd
        self.assertEqual(self.output("text", "skip.zst"), b"five")
        self.write("plain.zst", b"plain")
        self.assertIn("neither gzip nor zstd", self.failure(3, "tokenize", "plain.zst", "--out", "plain"))

    def test_any_bytes_and_any_threads(self):
        draw = random.Random(2)
        data = bytes(draw.randrange(256) for _ in range(50000)) + prose(200000)
        self.write("a.bin.txt", data)
        self.write("b.txt", prose(100000, 3))
        for threads in "1", "2", "3":
            self.output("tokenize", "a.bin.txt", "--tokenizer", "train:1000", "--separator", "",
                        "--val-fraction", "0", "--out", "t" + threads, "--threads", threads)
        first = self.read("t1/text_train_000000.bin")
        self.assertEqual(first, self.read("t2/text_train_000000.bin"))
        self.assertEqual(first, self.read("t3/text_train_000000.bin"))
        self.assertEqual(self.output("text", "t1/text_train_000000.bin"), data)

    def test_validation_and_shard_sizes(self):
        self.write("a.txt", prose(400000))
        self.output("tokenize", "a.txt", "--out", "out", "--val-fraction", "0.05",
                    "--shard-tokens", "100k")
        manifest = json.loads(self.read("out/manifest.json"))
        self.assertEqual(manifest["train"]["shards"], 4)
        self.assertTrue(15000 < manifest["val"]["tokens"] < 25000, manifest)
        train = sum((self.tokens(f"out/text_train_{i:06d}.bin") for i in range(4)), ())
        val = self.tokens("out/text_val_000000.bin")
        self.assertEqual(len(train), manifest["train"]["tokens"])
        self.assertEqual(train.count(0), manifest["train"]["documents"])
        self.assertEqual((train[0], val[0], val.count(0)), (0, 0, manifest["val"]["documents"]))
        self.assertEqual(len(train) + len(val), manifest["text_bytes"] + train.count(0) + val.count(0))

    def test_a_name_with_a_split_in_it(self):
        self.write("a.txt", prose(60000))
        for name in "a_train", "a_val", "a_val_train_b":
            self.output("tokenize", "a.txt", "--name", name, "--out", name, "--val-fraction", "0.1")
            manifest = json.loads(self.read(name + "/manifest.json"))
            facts = json.loads(self.output("data", name, "--json"))
            for split in "train", "val":
                self.assertEqual(facts[split]["tokens"], manifest[split]["tokens"], name)

    def test_mixtures(self):
        for name, tokenizer in ("a", "train:300"), ("b", "a"), ("c", "train:300"), ("bare", "a"):
            self.write(name + ".txt", prose(60000, ord(name[0])))
            self.output("tokenize", name + ".txt", "--tokenizer", tokenizer, "--out", name, "--val-fraction",
                        "0" if name == "b" else "0.1")
        os.unlink(self.path("bare/tokenizer.json"))
        small = ["--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "32", "--batch-size",
                 "2", "--num-iterations", "2", "--val-loss-every", "2", "--val-tokens", "256"]
        self.output("train", *small, "--data-dir", "a:0.7,b:0.3", "--out", "mixed")
        self.assertIn(b"loss", self.output("eval", "--init", "mixed"))  # its data_dir is the mixture
        for data, status, word in (("a,c", 2, "different tokenizers"), ("a,bare", 1, "no tokenizer here"),
                                   ("a:0.5,nothing:0.5", 1, "nothing: there is no such data directory"),
                                   ("a:0,b", 2, "weight must be"), ("a:1,b:1e-9", 2, "less than one part in 10000")):
            self.assertIn(word, self.failure(status, "train", *small, "--data-dir", data, "--out", "bad"))

    def test_vocabulary_without_manifest(self):
        self.write("a.txt", prose(60000))
        self.output("tokenize", "a.txt", "--tokenizer", "train:512", "--out", "a")
        os.unlink(self.path("a/manifest.json"))
        self.output("train", "--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "32",
                    "--batch-size", "2", "--num-iterations", "1", "--data-dir", "a", "--out", "run")
        self.assertEqual(json.loads(self.read("run/checkpoints/step-0000000001/config.json"))["vocab_size"], 512)

    def test_data_says_what_it_looked_at(self):
        self.assertIn("nothere: No such file", self.failure(1, "data", "nothere"))
        self.assertIn("no*.bin: there is no token shard of this name", self.failure(1, "data", "no*.bin"))
        os.mkdir(self.path("empty"))
        self.assertIn("empty: no *_train_*.bin", self.failure(1, "data", "empty"))
        self.write("one.bin", struct.pack("<3i", 20240520, 1, 2).ljust(1024, b"\0") + b"\1\0\2\0")
        facts = json.loads(self.output("data", "one.bin", "--json"))
        self.assertEqual((facts["train"], facts["val"], facts["shards"]["tokens"]), (None, None, 2))
        self.assertIsNone(facts["shards"]["documents"])
        self.assertIn(b"documents not known", self.output("data", "one.bin"))
        facts = json.loads(self.output("data", "one.bin", "--json", "--vocabulary", "9"))
        self.assertEqual((facts["vocabulary"], facts["end_of_text"]), (9, None))
        self.assertIn(b"vocabulary  9, end of text is not known", self.output("data", "one.bin", "--vocabulary", "9"))
        self.write("a.txt", b"one two three\n" * 9000)
        self.output("tokenize", "a.txt", "--out", "d", "--quiet")
        self.assertIn(b"vocabulary  256, end of text is 0", self.output("data", "d/text_val_000000.bin"))
        os.rename(self.path("d"), os.fsencode(self.path("d")) + b"\xff")
        facts = json.loads(self.output("data", b"d\xff", "--json"))
        self.assertIsNone(facts["directory"])
        self.assertGreater(facts["train"]["tokens"], 0)

    def test_shards_are_not_read_as_text(self):
        self.write("a.txt", prose(60000))
        self.output("tokenize", "a.txt", "--out", "d", "--quiet")
        self.assertIn("d: holds token shards, not text", self.failure(2, "text", "d"))
        self.assertIn("d: holds token shards, not text", self.failure(2, "tokenize", "a.txt", "d", "--out", "e"))
        for words in (("a.txt", "d/text_val_000000.bin"), ("d/text_val_000000.bin", "a.txt")):
            self.assertIn("token shards (.bin) or text, not both", self.failure(2, "text", *words))
        os.mkdir(self.path("outer"))
        os.rename(self.path("d"), self.path("outer/d"))
        os.unlink(self.path("outer/d/manifest.json"))  # comes first, and is text
        said = "outer/d/text_train_000000.bin: is a token shard, not text (magic number 20240520, version 1); 'mousse text"
        self.assertIn(said, self.failure(3, "tokenize", "outer", "--out", "e"))
        self.assertIn(said, self.failure(3, "tokenize", "outer/d/text_train_000000.bin", "--out", "e"))
        self.assertIn(said, self.failure(3, "text", "outer"))
        self.write("wide", struct.pack("<256i", 20240801, 7, 1, *[0] * 253) + b"\1\0\0\0")
        self.assertIn("wide: is a token shard, not text", self.failure(3, "tokenize", "wide", "--out", "e"))
        self.write("wide.gz", gzip.compress(self.read("wide")))
        self.assertIn("wide.gz: is a token shard, not text", self.failure(3, "tokenize", "wide.gz", "--out", "e"))
        self.write("targets", struct.pack("<256i", 20261116, 1, 1, *[0] * 253) + b"\1")
        self.assertIn("targets: belongs to a token shard", self.failure(3, "tokenize", "targets", "--out", "e"))
        self.assertFalse(os.path.exists(self.path("e")))

    def test_archives_and_tables_are_not_read_as_text(self):
        """What people have in place of text, with bytes that would be learned."""
        text = prose(60000)
        archive, packed = io.BytesIO(), io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("a.txt", text)
        for what, data in (("compressed with xz", lzma.compress(text)), ("compressed with bzip2", bz2.compress(text, 3)),
                           ("a zip archive", packed.getvalue()), ("a tar archive", archive.getvalue()),
                           ("a tar archive", archive.getvalue().replace(b"ustar\x0000", b"ustar  \0")),
                           ("a tar archive", gzip.compress(archive.getvalue())), ("a PDF", b"%PDF-1.4\n" + text),
                           ("a Parquet file", b"PAR1\x15" + text), ("an Arrow file", b"ARROW1\0\0" + text)):
            os.makedirs(self.path("in"), exist_ok=True)
            self.write("in/data", data)
            for place in "in", "in/data":
                self.assertIn(f"in/data: is {what}, not text; ", self.failure(3, "tokenize", place, "--out", "e"))
            self.assertIn(f"in/data: is {what}, not text; ", self.failure(3, "text", "in/data"))
        self.assertFalse(os.path.exists(self.path("e")))
        for harmless in b"PAR1 of the text", b"BZh91AY", b"PK", b"ARROW1", b" %PDF-", b"a" * 257 + b"ustar":
            self.write("a.txt", harmless + b"\n" + text)
            self.assertEqual(self.output("text", "a.txt"), harmless + b"\n" + text)

    def test_a_field_of_no_input(self):
        """As where JSON lines have a name that says nothing of them."""
        line = json.dumps({"content": "some words " * 99}).encode() + b"\n"
        for name in "a.json", "b.jsonl":
            self.write(name, line * 50)
        for command in ("text", "a.json"), ("tokenize", "a.json", "--out", "d"):
            self.assertIn("a.json: --field is given, and no input is JSON lines; files of them are called .jsonl",
                          self.failure(2, *command, "--field", "content"))
        self.assertEqual(self.output("text", "a.json"), line * 50)
        self.assertIn(line, self.output("text", "a.json", "b.jsonl", "--field", "content"))

    def test_standard_input(self):
        text = prose(60000)
        self.assertEqual(self.run_mousse("text", "-", input=text).stdout, text)
        self.run_mousse("tokenize", "-", "--val-fraction", "0", "--out", "d", input=text)
        self.assertEqual(self.output("text", "d/text_train_000000.bin"), text)
        said = self.run_mousse("tokenize", "-", "--tokenizer", "train:300", "--out", "e", status=2, input=text).stderr
        self.assertIn(b"/dev/stdin: not a regular file, but --tokenizer train:SIZE reads the text twice", said)
        self.write("-", b"a file of this name\n")
        self.assertEqual(self.output("text", "./-"), b"a file of this name\n")

    def test_output_inside_an_input(self):
        os.mkdir(self.path("in"))
        self.write("in/a.txt", b"one two three " * 100)
        os.symlink("in", self.path("link"))
        for tokenizer in "bytes", "train:262":
            for place in "in/out-" + tokenizer[:5], "link/linked-" + tokenizer[:5] + "/":
                command = ("tokenize", "in", "--tokenizer", tokenizer, "--out", place, "--val-fraction", "0")
                os.makedirs(self.path(place).rstrip("/") + ".partial")  # as a call that was killed leaves it
                self.write(place.rstrip("/") + ".partial/lock",
                           b"mousse is making this directory; what is in it may be removed\n")
                self.output(*command)
                self.assertEqual(self.output("text", place + "/text_train_000000.bin"), b"one two three " * 100)
                self.assertIn(b"already complete", self.output(*command))
                self.assertIn(b"already complete", self.output("tokenize", "in", place, *command[2:]))
                shutil.rmtree(self.path(place))
        for _ in range(2):
            self.output("text", "in", "--out", "in/all.txt")
            self.assertEqual(self.read("in/all.txt"), b"one two three " * 100)
        self.assertIn("--out in are never inputs", self.failure(2, "tokenize", "in", "--out", "in"))
        self.write("in/all.txt.4711.tmp", b"what a call that was killed left")
        self.output("text", "in", "--out", "in/all.txt")
        self.assertEqual(self.read("in/all.txt"), b"one two three " * 100)
        os.unlink(self.path("in/all.txt"))
        self.output("text", "in", "--out", "in/all.txt")  # also when the file itself is not there
        self.assertEqual(self.read("in/all.txt"), b"one two three " * 100)

    def test_output_that_is_an_input(self):
        """Who names a file means it, also where the output takes its place; of a link, only the link is replaced."""
        os.mkdir(self.path("in"))
        self.write("in/a.txt", b"one\ntwo\n\nthree\n")
        self.write("b.txt", b"four\n")
        self.output("text", "in/a.txt", "b.txt", "--out", "b.txt")
        self.assertEqual(self.read("b.txt"), b"one\ntwo\n\nthree\n<|endoftext|>\nfour\n")
        self.output("text", "b.txt", "--unwrap", "--out", "b.txt")
        self.assertEqual(self.read("b.txt"), b"one two\n\nthree\n<|endoftext|>\nfour\n")
        os.symlink("in/a.txt", self.path("link"))
        self.output("text", "in", "--out", "link")
        self.assertEqual((self.read("link"), self.read("in/a.txt")), (b"one\ntwo\n\nthree\n",) * 2)
        self.assertFalse(os.path.islink(self.path("link")))

    def test_a_tokenizer_without_an_end_of_text(self):
        self.write("a.txt", prose(60000))
        self.output("tokenize", "a.txt", "--tokenizer", "train:512", "--out", "a", "--quiet")
        os.unlink(self.path("a/manifest.json"))
        self.write("a/tokenizer.json", self.read("a/tokenizer.json").replace(b"<|endoftext|>", b"<|other|>"))
        facts = json.loads(self.output("data", "a", "--json"))
        self.assertEqual((facts["vocabulary"], facts["end_of_text"], facts["train"]["documents"]), (512, None, None))
        self.assertIn(b"vocabulary  512, end of text is not known", self.output("data", "a"))

    def test_progress(self):
        self.write("a.txt", prose(100000))
        plain = self.run_mousse("tokenize", "a.txt", "--out", "plain").stderr
        self.assertRegex(plain, rb"tokenizing: 0.1 MB in 0:0\d, [0-9.]+ MB/s\n")
        self.assertNotIn(b"\r", plain)
        ours, theirs = pty.openpty()
        subprocess.run([MOUSSE, "tokenize", "a.txt", "--out", "terminal"], cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=theirs, check=True)
        os.close(theirs)
        self.assertIn(b"tokenizing: 0.1 MB", os.read(ours, 10000))
        os.close(ours)
        self.assertEqual(self.run_mousse("tokenize", "a.txt", "--out", "q", "--quiet").stderr, b"")

    def test_messages_have_lines_of_their_own(self):
        """The text goes on until there is a bar."""
        self.write("b.jsonl", b"{\n")
        for inputs, status, said in ((("pipe", "b.jsonl"), 3, b"mousse: b.jsonl: line 1"),
                                     (("pipe",), 0, b"[0-9]+ bytes are not UTF-8")):
            os.mkfifo(self.path("pipe"))
            ours, theirs = pty.openpty()
            process = subprocess.Popen([MOUSSE, "tokenize", *inputs, "--tokenizer", "bytes", "--out", "d"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=theirs, env=dict(os.environ, NO_COLOR="1"))
            os.close(theirs)
            shown = b""
            with open(self.path("pipe"), "wb", buffering=0) as pipe:
                while b"\r\x1b[Ktokenizing" not in shown:
                    pipe.write(b"some words of text \xff\n" * 50000)
                    while select.select([ours], [], [], 0)[0]:
                        shown += os.read(ours, 1 << 16)
            shown += self.rest_of(ours)
            self.assertEqual(process.wait(self.timeout), status)
            self.assertRegex(shown, rb"(\n|\r\x1b\[K)" + said)
            os.unlink(self.path("pipe"))

    def rest_of(self, terminal):
        """What the other side of a terminal says until it ends."""
        shown = b""
        try:
            while part := os.read(terminal, 1 << 16):
                shown += part
        except OSError:
            pass  # how a terminal ends
        os.close(terminal)
        return shown

    def test_text_on_a_terminal(self):
        """Escape sequences of a stranger's text do not reach a terminal, but they do reach a file."""
        text = "naïve \x1b]0;title\x07\x1b[2J\tend\r\nold\rline\n".encode() * 3000
        self.write("a.txt", text)
        self.output("tokenize", "a.txt", "--out", "d", "--val-fraction", "0")
        self.assertEqual(self.output("text", "a.txt"), text)
        for name in "a.txt", "d/text_train_000000.bin":
            master, slave = pty.openpty()
            process = subprocess.Popen([MOUSSE, "text", name], cwd=self.folder, stdout=slave, stderr=subprocess.DEVNULL)
            os.close(slave)
            shown = self.rest_of(master)
            self.assertEqual(process.wait(self.timeout), 0)
            self.assertNotIn(b"\x1b", shown)
            self.assertNotIn(b"\x07", shown)
            self.assertEqual(shown.count("naïve ?]0;title??[2J\tend\r\nold?line\r\n".encode()), 3000)

    def test_killed_and_started_again(self):
        self.write("a.txt", prose(3000000))
        arguments = ["tokenize", "a.txt", "--tokenizer", "train:2000", "--out", "out", "--quiet"]
        whole = [*arguments[:-2], "whole", "--quiet"]
        self.output(*whole)
        for pause in 0.02, 0.1, 0.2, 0.3, 0.4:
            process = subprocess.Popen([MOUSSE, *arguments], cwd=self.folder)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if os.path.exists(self.path("out")):  # complete or absent
                self.assertTrue(os.path.exists(self.path("out/manifest.json")))
        self.output(*arguments)
        for name in sorted(os.listdir(self.path("whole"))):
            self.assertEqual(self.read("out/" + name), self.read("whole/" + name), name)
        self.assertEqual(glob.glob(self.path("out.partial*")), [])

    def test_existing_output(self):
        self.write("a.txt", prose(100000))
        self.output("tokenize", "a.txt", "--out", "out")
        self.assertIn(b"already complete", self.output("tokenize", "a.txt", "--out", "out"))
        self.assertIn("exists, and was not made",
                      self.failure(1, "tokenize", "a.txt", "--out", "out", "--name", "other"))
        self.touch("a.txt", 1)
        self.assertIn("exists, and was not made", self.failure(1, "tokenize", "a.txt", "--out", "out"))
        os.mkdir(self.path("mine"))
        self.write("mine/file", b"x")
        for mine in "mine", "a.txt":  # and does not say that these should be removed
            self.assertTrue(self.failure(1, "tokenize", "a.txt", "--out", mine).endswith(
                f"{mine}: exists, and is no data set of mousse; give another --out\n"))
        os.utime(self.path("a.txt"), (10413792000, 10413792000))  # 2300: more nanoseconds than 63 bits have
        for expected in (b"vocabulary", b"already complete"):
            self.assertIn(expected, self.output("tokenize", "a.txt", "--out", "late"))
        self.assertEqual(self.read("mine/file"), b"x")

    def touch(self, name, nanoseconds):
        """Another time within the same second."""
        seconds = os.stat(self.path(name)).st_mtime_ns // 10**9 * 10**9
        os.utime(self.path(name), ns=(seconds, seconds + nanoseconds))

    def test_complete_means_all_of_it(self):
        self.write("a.jsonl", b'{"prompt": "one", "completion": "two three"}\n' * 200)
        again = ("tokenize", "a.jsonl", "--completion-field", "completion", "--val-fraction", "0.2", "--out", "d",
                 "--shard-tokens", "500")
        self.output(*again)
        self.assertIn(b"already complete", self.output(*again))
        shutil.copytree(self.path("d"), self.path("whole"))
        for name in sorted(os.listdir(self.path("d"))):
            if name == "manifest.json":
                continue
            os.unlink(self.path("d/" + name))
            self.assertIn("d: its manifest says that it is complete, but", self.failure(1, *again), name)
            shutil.copy(self.path("whole/" + name), self.path("d/" + name))
        with open(self.path("d/text_train_000000.bin"), "ab") as file:
            file.truncate(1500)
        self.assertIn("its manifest says that it is complete, but", self.failure(1, *again))

    def test_another_tokenizer_at_the_same_place(self):
        self.write("a.txt", prose(100000))
        for size in "300", "301":
            self.output("tokenize", "a.txt", "--tokenizer", "train:" + size, "--out", "t" + size)
        again = "tokenize", "a.txt", "--tokenizer", "t300", "--out", "out"
        self.output(*again)
        self.assertIn(b"already complete", self.output(*again))
        manifest = json.loads(self.read("out/manifest.json"))
        os.replace(self.path("t301/tokenizer.json"), self.path("t300/tokenizer.json"))
        self.assertIn("not made from these inputs and options and this tokenizer", self.failure(1, *again))

        del manifest["recipe"]["tokenizer_xxh3"]  # as older versions wrote it
        for entry in manifest["recipe"]["inputs"]:
            entry["modified"] = entry.pop("modified_ns") // 10**9
        self.write("out/manifest.json", json.dumps(manifest).encode())
        self.assertIn(b"already complete", self.output(*again))
        self.write("a.txt", prose(100000, 2))
        self.assertIn("exists, and was not made", self.failure(1, *again))

    def test_added_tokens(self):
        """A token with a space in it, in a document of many pieces; and data from before such tokens were found."""
        token, count = "<a name>", 40000
        self.write("a.txt", prose(100000))
        self.output("tokenize", "a.txt", "--tokenizer", "train:300", "--out", "t")
        tokenizer = json.loads(self.read("t/tokenizer.json"))
        tokenizer["added_tokens"].append({"id": 300, "content": token, "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": False, "special": False})
        self.write("t/tokenizer.json", json.dumps(tokenizer).encode())
        self.write("b.txt", token.encode() * count)
        again = "tokenize", "b.txt", "--tokenizer", "t", "--out", "out", "--val-fraction", "0"
        self.output(*again)
        ids = self.tokens("out/text_train_000000.bin")
        self.assertTrue(ids == (299,) + (300,) * count, f"{len(ids)} ids, from {ids[:4]}")
        self.assertEqual(self.output("text", "out/text_train_000000.bin"), token.encode() * count)
        self.assertIn(b"already complete", self.output(*again))

        manifest = json.loads(self.read("out/manifest.json"))
        self.assertEqual(manifest["recipe"].pop("found_tokens"), 1)
        del manifest["recipe"]["tokenizer_xxh3"]
        self.write("out/manifest.json", json.dumps(manifest).encode())
        self.assertIn("exists, and was not made", self.failure(1, *again))

    def test_shards_of_another_tokenizer(self):
        """The tokenizer.json beside shards may not be what made them: told, and not mixed."""
        small = ["--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "32", "--batch-size",
                 "2", "--num-iterations", "1", "--val-tokens", "256", "--vocab-size", "301"]
        self.write("a.txt", prose(100000))
        self.output("tokenize", "a.txt", "--tokenizer", "train:300", "--out", "t")
        tokenizer = json.loads(self.read("t/tokenizer.json"))
        tokenizer["added_tokens"].append({"id": 300, "content": "<x>", "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": False, "special": False})
        self.write("t/tokenizer.json", json.dumps(tokenizer).encode())
        told = "its shards were made with another tokenizer"
        for name in "new", "old":
            self.output("tokenize", "a.txt", "--tokenizer", "t", "--out", name)
        manifest = json.loads(self.read("old/manifest.json"))
        del manifest["recipe"]["found_tokens"]  # as older versions wrote it
        self.write("old/manifest.json", json.dumps(manifest).encode())
        for name, other in ("new", False), ("old", True), ("t", True):
            said = self.run_mousse("train", *small, "--data-dir", name, "--out", "run-" + name).stderr.decode()
            self.assertEqual(f"{name}: {told}" in said, other, said)
        for mixture in "new,old", "old,new":
            said = self.failure(2, "train", *small, "--data-dir", mixture, "--out", "mixed")
            self.assertIn("old: " + told, said)
        for kind in "bytes", "train:300":  # as tokenize writes them, nothing is told
            self.output("tokenize", "a.txt", "--tokenizer", kind, "--out", kind[:5])
            said = self.run_mousse("train", *small, "--data-dir", kind[:5], "--out", "run-" + kind[:5]).stderr.decode()
            self.assertNotIn(told, said)

    def test_more_inputs_than_a_manifest_lists(self):
        folder = "/".join(["many"] + ["x" * 250] * 14)  # long names stand for a large number of files
        os.makedirs(self.path(folder))
        for i in range(2500):
            self.write(f"{folder}/{i}", b"some words and a line end\n")
        again = "tokenize", "many", "--out", "out"
        self.output(*again)
        inputs = json.loads(self.read("out/manifest.json"))["recipe"]["inputs"]
        self.assertEqual((inputs["count"], inputs["bytes"]), (2500, 2500 * 26))
        self.assertIn(b"already complete", self.output(*again))
        self.touch(folder + "/7", 1)
        self.assertIn("exists, and was not made", self.failure(1, *again))

    def test_bad_files(self):
        self.write("empty.txt", b"")
        self.assertIn("no text", self.failure(3, "tokenize", "empty.txt", "--out", "out"))
        self.write("a.txt", b"hello")
        self.write("t.json", b"{")
        self.assertIn("t.json: line 1",
                      self.failure(3, "tokenize", "a.txt", "--tokenizer", "t.json", "--out", "out"))
        self.assertIn("too small for a vocabulary of 4096",
                      self.failure(2, "tokenize", "a.txt", "--tokenizer", "train:4096", "--out", "out"))
        self.assertEqual(glob.glob(self.path("out*")), [])
        self.write("x_train_000000.bin", struct.pack("<3i", 20240520, 1, 2).ljust(1024, b"\0") + b"\1\0\2\1")
        self.assertIn("token 1 is 258", self.failure(3, "data", ".", "--vocabulary", "256"))
        facts = json.loads(self.output("data", ".", "--json"))
        self.assertEqual(facts["train"]["largest_id"], 258)


unittest.main()
