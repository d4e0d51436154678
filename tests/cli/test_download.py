"""Shards from a server on loopback that can break off, refuse ranges, and answer nonsense."""
import http.server
import os
import struct
import threading
import unittest

from program import ProgramTest


def shard(count, seed):
    header = struct.pack("<3i", 20240520, 1, count).ljust(1024, b"\0")
    return header + b"".join(struct.pack("<H", (i * seed) % 50257) for i in range(count))


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        name = os.path.basename(self.path)
        server.requests.append((name, self.headers.get("Range")))
        data = server.files.get(name)
        if data is None:
            self.send_error(404)
            return
        if server.errors > 0:
            server.errors -= 1
            self.send_error(503)
            return
        start = 0
        asked = self.headers.get("Range") if server.ranges else None
        if asked:
            start = int(asked[len("bytes="):].split("-")[0])
            if start >= len(data):
                self.send_error(416)
                return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        body = data[start:]
        if server.breaks > 0:  # half of it, then the line goes dead
            server.breaks -= 1
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)


class Download(ProgramTest):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        self.server.files = {f"fineweb_train_{i:06d}.bin": shard(20000, i + 1) for i in (1, 2)}
        self.server.files["fineweb_val_000000.bin"] = shard(5000, 7)
        self.server.requests, self.server.ranges = [], True
        self.server.breaks = self.server.errors = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        base = f"http://127.0.0.1:{self.server.server_port}/data"
        self.words = ["download", "fineweb10B", "--base", base, "--out", "d", "--shards", "2",
                      "--pause", "0.01"]

    def check(self):
        for name, data in self.server.files.items():
            self.assertEqual(self.read("d/" + name), data)
        self.assertEqual(len(os.listdir(self.path("d"))), len(self.server.files))

    def test_plain(self):
        self.output(*self.words)
        self.check()
        asked = len(self.server.requests)
        self.output(*self.words)  # all there: nothing is asked for again
        self.assertEqual(len(self.server.requests), asked)

    def test_broken_lines_are_continued(self):
        self.server.breaks = 4
        self.output(*self.words)
        self.check()
        self.assertTrue(any(asked for _, asked in self.server.requests))

    def test_part_of_an_earlier_run_is_continued(self):
        os.mkdir(self.path("d"))
        name = "fineweb_val_000000.bin"
        self.write(f"d/{name}.part", self.server.files[name][:3000])
        self.output(*self.words)
        self.check()
        self.assertIn((name, "bytes=3000-"), self.server.requests)

    def test_server_without_ranges(self):
        os.mkdir(self.path("d"))
        name = "fineweb_val_000000.bin"
        self.write(f"d/{name}.part", b"x" * 3000)
        self.server.ranges = False
        self.output(*self.words)
        self.check()

    def test_part_longer_than_the_file(self):
        os.mkdir(self.path("d"))
        name = "fineweb_val_000000.bin"
        self.write(f"d/{name}.part", self.server.files[name] + b"more")
        self.output(*self.words)
        self.check()

    def test_busy_server_is_asked_again(self):
        self.server.errors = 3
        self.output(*self.words)
        self.check()

    def test_failures(self):
        self.server.errors = 100
        self.assertIn("the server answers 503", self.failure(1, *self.words, "--retries", "1"))
        self.server.errors = 0
        del self.server.files["fineweb_train_000002.bin"]
        self.assertIn("the server answers 404", self.failure(1, *self.words))
        self.assertIn("but fineweb10B has 103", self.failure(2, *self.words, "--shards", "104"))
        self.server.files["fineweb_train_000002.bin"] = b"<html>not a shard</html>" * 100
        self.assertIn("not a token shard", self.failure(3, *self.words))
        self.assertFalse(os.path.exists(self.path("d/fineweb_train_000002.bin")))
        self.assertFalse(os.path.exists(self.path("d/fineweb_train_000002.bin.part")))
        self.assertIn("127.0.0.1:1", self.failure(1, "download", "fineweb10B", "--out", "e",
                                                  "--base", "http://127.0.0.1:1", "--retries", "0"))
        self.failure(1, "download", "fineweb10B", "--out", "e", "--base", "file:///etc")


unittest.main()
