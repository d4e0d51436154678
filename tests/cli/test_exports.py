"""What other programs read: TensorBoard's event files, by a reader written from the format's description
(TFRecord framing with masked CRC-32C, protocol buffers Event and Summary), and the scripts' own help."""
import glob
import json
import math
import os
import re
import struct
import subprocess
import unittest

from program import MOUSSE, ROOT, ProgramTest


def crc32c(data):
    """Castagnoli's polynomial, reflected, by a table of the 256 bytes."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """u64 length, u32 masked CRC of it, the bytes, u32 masked CRC of them; again to the end."""
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,), (check,) = struct.unpack("<Q", head), struct.unpack("<I", data[at + 8:at + 12])
        assert check == masked(head), "checksum of a length"
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, "a record is cut off"
        assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(body), "checksum of a record"
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message: an integer, 4 or 8 bytes, or bytes with a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(data, at)
            assert size is not None and at + size <= len(data), f"wire type {kind}"
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def read_events(path):
    """The version, and (tag, step, value) of every scalar."""
    version, scalars = None, []
    with open(path, "rb") as file:
        data = file.read()
    for body in records(data):
        event = dict(fields(body))
        assert struct.unpack("<d", event[1])[0] > 1e9, "time since 1970"
        version = event[3].decode() if 3 in event else version
        for number, value in fields(event.get(5, b"")):
            assert number == 1, "a summary has values"
            entry = dict(fields(value))
            scalars.append((entry[1].decode(), event.get(2, 0), struct.unpack("<f", entry[2])[0]))
    return version, scalars


class Runs(ProgramTest):
    def setUp(self):
        super().setUp()
        self.make_data()

    def train(self, *more):
        self.run_mousse("train", "--preset", "nano", "--model-dim", "32", "--n-layer", "1", "--n-head", "2",
                        "--sequence-length", "32", "--batch-size", "2", "--data-dir", "data", "--val-tokens", "512",
                        "--out", "run", "--quiet", *more)

    def test_a_report_tells_where_options_changed(self):
        self.train("--num-iterations", "3", "--lr", "0.02")
        self.assertNotIn(b"options changed", self.output("report", "run", "--text"))
        self.train("--num-iterations", "5", "--lr", "0.05", "--threads", "1")
        text = " ".join(self.output("report", "run", "--text").decode().split())
        told = text[text.index("run: options changed at step 3 ("):].split(")")[0]
        self.assertIn("lr 0.02 to 0.05", told)
        self.assertNotIn("threads", told)
        self.assertIn("bits per byte", text)

    def test_a_run_that_lost_patience_is_complete(self):
        self.train("--num-iterations", "400", "--lr", "0", "--scalar.lr", "0", "--val-loss-every", "1", "--patience", "2")
        text = self.output("report", "run", "--text").decode()
        self.assertIn("complete", text)
        self.assertNotIn("not finished", text)

    def test_events_are_the_metrics(self):
        self.train("--num-iterations", "6", "--val-loss-every", "3", "--tensorboard")
        paths = glob.glob(self.path("run/**/*tfevents*"), recursive=True)
        self.assertEqual(len(paths), 1)
        version, scalars = read_events(paths[0])
        self.assertEqual(version, "brain.Event:2")
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        wanted = {("val" if "val_loss" in line else "train", line["step"]): line.get("val_loss", line.get("loss"))
                  for line in lines if "matrix" not in line}
        found = {("val" if "val" in tag else "train", step): value for tag, step, value in scalars if "loss" in tag}
        self.assertEqual(set(found), set(wanted))
        for key, value in wanted.items():
            self.assertTrue(math.isclose(found[key], value, rel_tol=1e-5), key)
        self.assertGreater(len({tag for tag, _, _ in scalars}), 2)


class Scripts(ProgramTest):
    def script(self, *path):
        with open(os.path.join(ROOT, *path)) as file:
            return file.read()

    def test_the_tokenizer_benchmark_reads_the_progress_line(self):
        """Its own filter, applied to what the program says today: one line, with the speed."""
        rule = re.search(r'sed -n "(.*)"', self.script("benchmarks", "tokenizer"))[1].replace("$threads", "1")
        self.write("a.txt", b"some words\n" * 9000)
        said = self.run_mousse("tokenize", "a.txt", "--out", "data").stderr
        kept = subprocess.run(["sed", "-n", rule], input=said, capture_output=True, check=True).stdout.decode()
        self.assertRegex(kept, r"^mousse, 1 thread\(s\): [0-9.e+]+ MB/s\n$")

    def test_the_demo_builds_what_readme_names(self):
        """Programs that the scripts of benchmarks/ start are among the targets of scripts/demo."""
        folder = os.path.dirname(os.path.dirname(os.path.dirname(MOUSSE)))
        targets = re.search(r"cmake --build --preset release --target (.*)", self.script("scripts", "demo"))[1].split()
        listed = subprocess.run(["ninja", "-C", folder, "-t", "query", *targets], capture_output=True, text=True)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        needed = {os.path.join("benchmarks", name) for script in ("compare", "model", "llmc")
                  for name in re.findall(r"\bbench_\w+", self.script("benchmarks", script))}
        self.assertGreaterEqual(len(needed), 2)
        for name in [*needed, "src/cli/all", "src/libmousse.a"]:
            self.assertRegex(listed.stdout, rf"(?m)^    {re.escape(name)}$")

    def test_benchmarks_explain_themselves(self):
        folder = os.path.join(ROOT, "benchmarks")
        scripts = [name for name in os.listdir(folder)
                   if os.access(os.path.join(folder, name), os.X_OK) and os.path.isfile(os.path.join(folder, name))]
        self.assertGreater(len(scripts), 6)
        for name in scripts:
            with self.subTest(name):
                done = subprocess.run([os.path.join(folder, name), "--help"], capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(name, done.stdout)
                self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
