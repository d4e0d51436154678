"""The documents are true: commands they show are understood, the tutorial runs, quoted code is
that of the examples, links lead somewhere, and the walk through the source names what is there."""
import glob
import os
import re
import shlex
import subprocess
import unittest

from program import MOUSSE, ROOT, ProgramTest

DOCUMENTS = sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                                                    recursive=True))
SMALL = {"train": ["--n-layer", "1", "--model-dim", "32", "--n-head", "2", "--sequence-length", "32", "--batch-size",
                   "2", "--num-iterations", "4", "--vocab-size", "0"],
         "sweep": ["--n-layer", "1", "--model-dim", "32", "--n-head", "2", "--sequence-length", "32", "--batch-size",
                   "2", "--num-iterations", "4", "--seed", "1"],
         "generate": ["--tokens", "5"], "chat": ["--tokens", "5"]}


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
        done = subprocess.run([MOUSSE, *words, "--help"], cwd=self.folder, capture_output=True, timeout=60)
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

    def test_the_tutorial_runs(self):
        os.mkdir(self.path("data"))
        words = b"It was a truth that she had not been in want of a good word %d times.\n"
        self.write("data/austen.txt", b"".join(words % i for i in range(3000)))
        for words in commands(read(os.path.join(ROOT, "docs", "tutorial-program.md"))):
            if words[0] == "tokenize":
                words[words.index("train:4096")] = "train:300"
            done = subprocess.run([MOUSSE, *words, *SMALL.get(words[0], [])], cwd=self.folder, capture_output=True,
                                  timeout=300, input=b"She\n/quit\n")
            self.assertEqual(done.returncode, 0, f"mousse {shlex.join(words)}: {done.stderr.decode()}")
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
        text = read(os.path.join(ROOT, "docs", "architecture.md")).split("## One token's way")[1].split("\n## ")[0]
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
