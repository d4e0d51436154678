"""Help, suggestions, exit codes, and the manual page that is made from the same tables."""
import os
import subprocess
import unittest

from program import MOUSSE, ROOT, ProgramTest


class Usage(ProgramTest):
    def test_help(self):
        text = self.output("--help").decode()
        self.assertIn("tokenize", text)
        self.assertIn("exit codes:", text)
        self.assertEqual(self.output("help").decode(), text)
        self.assertEqual(self.output().decode(), text)
        one = self.output("tokenize", "--help").decode()
        self.assertIn("--val-fraction NUMBER", one)
        self.assertIn("default 0.01; a number from 0 to", one)
        self.assertEqual(self.output("help", "tokenize").decode(), one)

    def test_version(self):
        self.assertRegex(self.output("version").decode(), r"^mousse \d+\.\d+\.\d+\n")
        self.assertEqual(self.output("--version"), self.output("version"))

    def test_mistakes(self):
        self.assertIn("did you mean 'tokenize'", self.failure(2, "tokenise"))
        self.assertIn("'mousse --help' lists them", self.failure(2, "zzz"))
        self.assertIn("did you mean 'out'", self.failure(2, "tokenize", "x", "--uot", "y"))
        self.assertIn("needs a value", self.failure(2, "tokenize", "x", "--out"))
        self.assertIn("there is no option '-x'", self.failure(2, "tokenize", "-x"))
        self.assertIn("needs INPUT", self.failure(2, "tokenize"))
        self.assertIn("at most 1 arguments", self.failure(2, "data", "a", "b"))
        self.assertIn("from 0 to 0.9", self.failure(2, "tokenize", "x", "--val_fraction=nan"))
        self.assertIn("needs --out", self.failure(2, "tokenize", "x"))
        self.assertIn("cannot open", self.failure(1, "tokenize", "none", "--out", "y"))
        self.assertIn("no *_train_*.bin", self.failure(1, "data", "."))
        self.assertIn("there is no data set 'c4'", self.failure(2, "download", "c4"))

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MOUSSE, "--help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write to standard output", done.stderr)

    def test_manual_page_is_current(self):
        with open(os.path.join(ROOT, "docs", "mousse.1"), "rb") as file:
            self.assertEqual(file.read(), self.output("help", "--man"),
                             "run: mousse help --man > docs/mousse.1")


unittest.main()
