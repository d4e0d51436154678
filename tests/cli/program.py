"""Runs the built program: the tests of this folder get its path as their last argument."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

MOUSSE = os.path.realpath(sys.argv.pop())
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class ProgramTest(unittest.TestCase):
    """Each test runs in a folder of its own."""

    timeout = 600  # seconds of one call: it ends what hangs, and judges no speed

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mousse-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_mousse(self, *words, status=0, input=None):
        """The finished process; text on standard output is bytes."""
        done = subprocess.run([MOUSSE, *words], cwd=self.folder, capture_output=True, timeout=self.timeout, input=input)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        return done

    def output(self, *words):
        return self.run_mousse(*words).stdout

    def failure(self, status, *words):
        """The sentence of a call that fails."""
        return self.run_mousse(*words, status=status).stderr.decode()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def make_data(self):
        """A few words over and over, as shards in `data`: learned in a few steps."""
        self.write("text.txt", b"the cat sat on the mat and the dog ran to the old red house. " * 600)
        self.run_mousse("tokenize", "text.txt", "--val-fraction", "0.1", "--out", "data", "--quiet")

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
