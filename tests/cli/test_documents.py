"""The documents are true: commands they show are understood and run in a small form, quoted code is
that of the examples, links lead somewhere, and the walk through the source names what is there."""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

from program import MOUSSE, ROOT, ProgramTest

DOCUMENTS = sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                                                    recursive=True))
MODEL = "--n-layer 1 --model-dim 32 --n-head 2 --sequence-length 32".split()
STEPS = "--batch-size 2 --num-iterations 4".split()
SMALL = {"train": [*MODEL, *STEPS, "--vocab-size", "0"], "sweep": [*MODEL, *STEPS, "--seed", "1"],
         "generate": ["--tokens", "5"], "chat": ["--tokens", "5"],
         "tune": [*MODEL, *STEPS, "--val-tokens", "64"],
         "reproduce": ["--dry-run"],  # study_reproduce makes all figures of the smallest scale
         "watch": ["--terminal"]}     # watch_server and watch_page have the page


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """Fenced and indented blocks of commands; other indented ones are what a program has printed."""
    yield from re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    for block in re.findall(r"(?:^\n)((?:^    .*\n)+)", text, re.M):
        if re.match(r" +(?:\$ )?(?:mousse [a-z]+ |\./|cmake |[a-z]+/|[A-Z_]+=|#)", block):
            yield block


def commands(text):
    """The words of every command line of the program in a document's blocks."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if re.match(r"(?:build/release/src/cli/)?mousse [a-z]", line) and " ..." not in line:
                words = shlex.split(line, comments=True)
                stop = [i for i, word in enumerate(words) if word in ("|", ">", "&&", ";", "&") or
                        word.startswith("(")]
                yield words[1:stop[0]] if stop else words[1:]


class Documents(ProgramTest):
    def understood(self, words, where):
        """Options and their values are checked before help is shown."""
        done = subprocess.run([MOUSSE, *words, "--help"], cwd=self.folder, capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{where}: mousse {shlex.join(words)}: {done.stderr.decode()}")
        self.assertNotIn(b"is called", done.stderr, f"{where}: mousse {shlex.join(words)}")

    def test_commands_are_understood(self):
        seen = 0
        for path in DOCUMENTS:
            if path.endswith("CHANGELOG.md"):
                continue  # old names belong there
            for words in commands(read(path)):
                self.understood(words, os.path.relpath(path, ROOT))
                seen += 1
        self.assertGreater(seen, 40)

    def test_commands_in_help_are_understood(self):
        names = re.findall(r"^  (\w+) +[A-Z]", self.output("help").decode().split("First steps")[0], re.M)
        for name in names:
            text = self.output(name, "--help").decode().replace("\\\n", " ")
            for line in re.findall(r"^  (mousse .*)$", text, re.M):
                line = re.split(r" {3,}| \| ", line)[0]
                self.understood(shlex.split(line)[1:], f"{name} --help")

    def test_a_wrong_command_would_be_found(self):
        with self.assertRaises(AssertionError):
            self.understood(["train", "--no-such-option", "3"], "here")
        with self.assertRaises(AssertionError):
            self.understood(["sweep", "--no-such-option", "3"], "here")
        self.assertEqual(list(commands("```sh\nmousse train --lr 3 \\\n  --seed 1   # so\n```\n")),
                         [["train", "--lr", "3", "--seed", "1"]])

    def run_small(self, words, where="before"):
        """A command as shown, with a model and a number of steps that take no time."""
        words = [word.replace("train:4096", "train:300").replace("@1000", "@4") for word in words]
        words = [name for word in words for name in sorted(glob.glob(word, root_dir=self.folder)) or [word]]
        small = SMALL.get(words[0], [])
        if "--dry-run" in words and words[0] == "train":
            small = []
        elif "--init" in words and words[0] == "train":
            small = [*STEPS, "--sequence-length", "32"]  # the rest of the model is given
        if words[0] in ("tokenize", "checkpoint") and "--out" in words:  # they refuse what is there
            made = self.path(words[words.index("--out") + 1])
            shutil.rmtree(made, ignore_errors=True)
            if os.path.exists(made):
                os.remove(made)
        done = subprocess.run([MOUSSE, *words, *small], cwd=self.folder, capture_output=True, timeout=300,
                              input=b"She\n/quit\n")
        self.assertEqual(done.returncode, 0, f"{where}: mousse {shlex.join(words + small)}: {done.stderr.decode()}")

    def prepare(self):
        """Files by the names that documents use: texts, a tokenizer, data, a run and a model folder."""
        os.mkdir(self.path("data"))
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        shutil.copytree(os.path.join(ROOT, "docs", "evidence"), self.path("docs/evidence"))  # an archive is written to
        line = "It was a truth that she had not been in want of a good word %d times.\n"
        text = "".join(line % i for i in range(3000)).encode()
        for name in ("data/austen.txt", "novels.txt", "book.txt", "wikipedia.txt", "austen.txt", "TEXT"):
            self.write(name, text)
        rows = [{"text": line % i, "prompt": "How often?", "completion": f"{i} times."} for i in range(2000)]
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        subprocess.run(["zstd", "-q", "--rm", self.path(self.write("web.jsonl", lines))], check=True)
        self.write("tasks.jsonl", lines)
        talk = [{"role": "user", "content": "How often?"}, {"role": "assistant", "content": "Every day."}]
        self.write("chats.jsonl", (json.dumps({"messages": talk}) + "\n").encode() * 2000)
        self.write("lr.yaml", b"data_dir: data/book\nlr: [0.01, 0.02]\n")
        for name in ("book", "austen"):
            self.run_small(["tokenize", "book.txt", "--tokenizer", "train:300", "--out", f"data/{name}"])
        shutil.copytree(self.path("data/book"), self.path("DATA"))
        os.mkdir(self.path("gpt2"))
        shutil.copy(self.path("data/book/tokenizer.json"), self.path("gpt2"))
        for out in ("runs/mousse", "runs/muon", "runs/sweep/1", "RUN"):
            self.run_small(["train", "--preset", "gpt2", "--data-dir", "data/book", "--out", out])
        self.run_small(["checkpoint", "export", "RUN", "--format", "hf", "--out", "DIR"])

    def test_every_command_runs(self):
        """In the order of each document, which starts anew; cli_download has the one that needs a server."""
        base = self.folder
        self.folder = start = os.path.join(base, "start")
        os.mkdir(start)
        self.prepare()
        for path in DOCUMENTS:
            shown = [words for words in commands(read(path)) if words[0] != "download"]
            if not shown or path.endswith("CHANGELOG.md"):
                continue
            self.folder = os.path.join(base, os.path.basename(path))
            shutil.copytree(start, self.folder, symlinks=True)
            for words in shown:
                self.run_small(words, os.path.relpath(path, ROOT))
            if path.endswith(("tutorial-program.md", "report.md")):
                self.assertTrue(os.path.exists(self.path("report.html")))

    def test_quoted_code_is_that_of_the_example(self):
        example = read(os.path.join(ROOT, "examples", "tutorial.c"))
        quoted = re.findall(r"^```c\n(.*?)^```", read(os.path.join(ROOT, "docs", "tutorial-library.md")), re.M | re.S)
        self.assertGreater(len(quoted), 5)
        for piece in quoted:
            self.assertIn(piece, example)

    def test_every_call_has_its_phases(self):
        header = read(os.path.join(ROOT, "include", "mousse", "mousse.h"))
        table = read(os.path.join(ROOT, "docs", "tutorial-library.md")).split("## Which call, when")[1]
        calls = re.findall(r"\b(mousse_\w+)\(", "\n".join(re.findall(r"^MOUSSE_API[^;]*;", header, re.M)))
        self.assertGreater(len(calls), 30)
        for call in calls:
            self.assertIn(f"`{call}`", table)

    def test_calls_that_documents_name_exist(self):
        headers = "".join(read(path) for path in glob.glob(os.path.join(ROOT, "include", "mousse", "*.h")))
        named = 0
        for path in DOCUMENTS + glob.glob(os.path.join(ROOT, "examples", "*.c")):
            if path.endswith("CHANGELOG.md"):
                continue
            for name in re.findall(r"`(mousse_[a-z_]+)`|\b(mousse_[a-z_]+)(?:\(| does)", read(path)):
                name = name[0] or name[1]
                self.assertRegex(headers, rf"\b{name}\b", os.path.relpath(path, ROOT))
                named += 1
        self.assertGreater(named, 100)

    def test_links_lead_somewhere(self):
        for path in DOCUMENTS:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(path)):
                if "://" not in target:
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)),
                                    f"{os.path.relpath(path, ROOT)}: {target}")

    def test_every_page_is_in_the_index(self):
        index = read(os.path.join(ROOT, "docs", "README.md"))
        for path in glob.glob(os.path.join(ROOT, "docs", "*.md")):
            if not path.endswith("README.md"):
                self.assertIn(f"]({os.path.basename(path)})", index)

    def test_the_walk_names_what_is_there(self):
        """Every `function` (`file`) of the newcomer's walk is defined in that file."""
        text = read(os.path.join(ROOT, "docs", "architecture.md")).split("## The path of one token")[1].split("\n## ")[0]
        steps = re.findall(r"`(\w+)`[^|`]*\|\s*`(src/[\w/]+\.c)`", text)
        self.assertGreater(len(steps), 20)
        for name, path in steps:
            source = os.path.join(ROOT, path)
            self.assertTrue(os.path.exists(source), path)
            self.assertRegex(read(source), rf"(?m)^(?:[a-z][\w \*]*[ \*])?{name}\([^;]*$", f"{name} in {path}")

    def test_files_that_documents_name_exist(self):
        for path in DOCUMENTS:
            if path.endswith("CHANGELOG.md"):
                continue
            for name in re.findall(r"`((?:src|tests|docs|include|examples|scripts|tools|benchmarks)/[\w./*-]+)`",
                                   read(path)):
                found = glob.glob(os.path.join(ROOT, name)) or glob.glob(os.path.join(ROOT, name + ".c"))
                self.assertTrue(found, f"{os.path.relpath(path, ROOT)}: {name}")


unittest.main()
