"""scripts/r-text: lines of character vectors from R's lazy-load databases, in every packing."""
import bz2
import gzip
import lzma
import os
import struct
import subprocess
import sys
import unittest
import zlib

from program import ROOT, ProgramTest


def string(text):
    return struct.pack(">ii", 9, len(text)) + text


def named(values, names, tag):
    """A list with names; the tag is the symbol `names`, or a reference to it."""
    return (struct.pack(">ii", 19 | 1 << 9, len(values)) + b"".join(values) + struct.pack(">i", 2 | 1 << 10) + tag
            + struct.pack(">ii", 16, len(names)) + b"".join(map(string, names)) + struct.pack(">i", 254))


HEADER = b"X\n" + struct.pack(">iii", 3, 0, 0) + struct.pack(">i", 5) + b"UTF-8"
SYMBOL, AGAIN = struct.pack(">i", 1) + string(b"names"), struct.pack(">i", 1 << 8 | 255)


def database(lines, pack):
    vector = HEADER + struct.pack(">ii", 16, len(lines)) + b"".join(map(string, lines))
    chunk = struct.pack(">I", len(vector)) + pack(vector)
    places = struct.pack(">iiii", 13, 2, 0, len(chunk))
    compressed = struct.pack(">iii", 10, 1, 1)
    index = HEADER + named([named([places], [b"emma"], SYMBOL), compressed], [b"variables", b"compressed"], AGAIN)
    return gzip.compress(index), chunk


def raw_lzma(data):
    return b"Z" + lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])


class RText(ProgramTest):
    def convert(self, *names):
        return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/r-text"), self.path("R.rdx"), *names],
                              capture_output=True, timeout=self.timeout)

    def test_packings(self):
        for pack in zlib.compress, raw_lzma, lambda data: b"2" + bz2.compress(data):
            index, chunk = database([b"ab", b"", "naïve".encode()], pack)
            self.write("R.rdx", index)
            self.write("R.rdb", chunk)
            self.assertEqual(self.convert("emma").stdout, "ab\n\nnaïve\n".encode())
            self.assertEqual(self.convert("emma", "emma").stdout.count(b"<|endoftext|>\n"), 1)
        failed = self.convert("anna")
        self.assertIn(b"no variable 'anna'", failed.stderr)
        self.assertNotEqual(failed.returncode, 0)


unittest.main()
