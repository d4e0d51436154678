"""The program in a terminal: progress lines that fit, colour, and none of it elsewhere."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from program import MOUSSE, ProgramTest

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TRAIN = ("train", "--preset", "nano", "--n-layer", "1", "--model-dim", "32", "--sequence-length", "32",
         "--batch-size", "2", "--num-iterations", "9", "--data-dir", "data", "--val-loss-every", "0")


class Terminal(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", b"".join(b"line %d has some words.\n" % i for i in range(9000)))
        self.output("tokenize", "a.txt", "--out", "data", "--quiet")

    def session(self, columns, *words, **environment):
        """What the program writes to a terminal of so many columns."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        settings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
        settings |= {"TERM": "xterm", "LANG": "C.UTF-8", **environment}
        process = subprocess.Popen([MOUSSE, *words], cwd=self.folder, stdout=theirs, stderr=theirs, stdin=theirs,
                                   env=settings)
        os.close(theirs)
        drawn = b""
        try:
            while chunk := os.read(ours, 65536):
                drawn += chunk
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        self.assertEqual(process.wait(), 0, drawn.decode(errors="replace"))
        return drawn.decode(errors="replace")

    def updates(self, drawn):
        """Every progress line, as wide as it is shown."""
        parts = re.split(r"[\r\n]+", ESCAPE.sub("", drawn))
        return [part for part in parts if part.startswith("step ") and "validation" not in part]

    def test_progress_fits_any_width(self):
        for columns in (20, 60, 200):
            drawn = self.session(columns, *TRAIN, "--out", f"run{columns}")
            lines = self.updates(drawn)
            self.assertTrue(lines, drawn)
            for line in lines:
                self.assertLess(len(line), columns, line)
            if columns >= 60:
                self.assertRegex(lines[-1], r"^step 9/9 ━+ 100%  loss \d")
        self.assertIn("of peak", lines[-1])
        self.assertGreater(lines[-1].count("━"), 30)

    def test_no_progress_line_of_any_command_wraps(self):
        """Tokenizing, sweeps and evaluation redraw their line, too."""
        self.session(80, *TRAIN, "--out", "run")
        for columns in (20, 60, 200):
            for words in (("tokenize", "a.txt", "--tokenizer", "train:400", "--out", f"d{columns}"),
                          ("sweep", *TRAIN[1:], "--lr", "0.01,0.02", "--out", f"s{columns}"),
                          ("eval", "--init", "run")):
                drawn = self.session(columns, *words)
                for line in re.findall(r"\r\x1b\[K([^\r\n]*)(?=\r(?!\n))", drawn):  # those that are drawn over
                    self.assertLess(len(ESCAPE.sub("", line)), columns, line)

    def test_headers_and_tables_fit(self):
        """What is printed once: everything but paths and what comes next, which are to be copied."""
        for columns in (60, 200):
            for words in ((*TRAIN, "--out", f"run{columns}"), ("checkpoint", "list", f"run{columns}"),
                          ("sweep", *TRAIN[1:], "--seed", "1,2", "--out", f"s{columns}"),
                          ("plan", "--model", "834M", "--batch", "2M", "--ranks", "4", "--gflops", "9")):
                drawn = ESCAPE.sub("", self.session(columns, *words)).split("next:")[0]
                for line in re.split(r"[\r\n]+", drawn):
                    self.assertLess(len(line), columns, words)

    def test_colour_only_where_it_is_wanted(self):
        self.assertIn("\x1b[32m", self.session(80, *TRAIN, "--out", "a"))
        self.assertNotIn("\x1b[32m", self.session(80, *TRAIN, "--out", "b", NO_COLOR="1"))
        self.assertNotIn("\x1b[32m", self.session(80, *TRAIN, "--out", "c", TERM="dumb"))
        ascii_bar = self.session(80, *TRAIN, "--out", "d", LANG="C")
        self.assertIn("[", self.updates(ascii_bar)[-1])
        self.assertTrue(ascii_bar.isascii())
        piped = self.run_mousse(*TRAIN, "--out", "e")
        self.assertNotIn(b"\x1b", piped.stderr + piped.stdout)
        self.assertNotIn(b"\r", piped.stderr)


unittest.main()
