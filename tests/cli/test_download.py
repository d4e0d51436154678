"""Shards from a server on loopback that can break off, refuse ranges, and answer nonsense."""
import hashlib
import http.server
import json
import os
import struct
import threading
import unittest

from program import ProgramTest


def shard(count, seed):
    header = struct.pack("<3i", 20240520, 1, count).ljust(1024, b"\0")
    return header + b"".join(struct.pack("<H", (i * seed) % 50257) for i in range(count))


def tokenizer_files():
    """As many tokens as GPT-2 has, though not the same ones."""
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    hidden = [b for b in range(256) if b not in printable]
    tokens = [chr(b) for b in printable] + [chr(256 + i) for i in range(len(hidden))]
    tokens += [f"token{i}" for i in range(50000)] + ["<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return {"vocab.json": json.dumps(vocabulary).encode(), "merges.txt": b"#version: 0.2\n"}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        name = os.path.basename(self.path)
        self.server.heads.append(name)
        self.send_response(200 if name in self.server.files else 404)
        if name in self.server.sums:
            self.send_header("X-Linked-ETag", f'"{self.server.sums[name]}"')
        self.end_headers()

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
        if server.endless:  # more than the file has, and no word about how much
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for _ in range(200):
                    self.wfile.write(data + bytes(1 << 20))
                server.endless_taken = True
            except OSError:
                pass
            self.close_connection = True
            return
        self.send_header("Content-Length", str(len(data) - start))
        if name in server.sums:
            self.send_header("X-Linked-ETag", f'"{server.sums[name]}"')
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
        self.server.files.update(tokenizer_files())
        self.server.sums = {name: hashlib.sha256(data).hexdigest() for name, data in self.server.files.items()}
        self.server.endless = self.server.endless_taken = False
        self.server.requests, self.server.heads, self.server.ranges = [], [], True
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

    def test_part_that_is_whole(self):
        os.mkdir(self.path("d"))
        name, damaged = "fineweb_train_000001.bin", "fineweb_train_000002.bin"
        self.write(f"d/{name}.part", self.server.files[name])
        data = self.server.files[damaged]
        self.write(f"d/{damaged}.part", data[:-1] + bytes([data[-1] ^ 1]))
        self.output(*self.words)
        self.check()
        asked = [asked for asked, _ in self.server.requests]
        self.assertNotIn(name, asked)
        self.assertIn(damaged, asked)
        self.assertEqual(self.server.heads, [name, damaged])

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

    def test_tokenizer_comes_along(self):
        self.words[self.words.index("--base") + 1] += "//"  # slashes at the end do not count
        self.output(*self.words)
        facts = json.loads(self.output("data", "d", "--json"))
        self.assertEqual((facts["vocabulary"], facts["end_of_text"]), (50257, 50256))
        self.assertNotIn("", [name for name, _ in self.server.requests])

    def test_another_tokenizer_is_refused(self):
        self.server.files["vocab.json"] = self.server.files["vocab.json"].replace(b', "<|endoftext|>": 50256', b"")
        del self.server.sums["vocab.json"]
        self.assertIn("a tokenizer of 50256 tokens, but fineweb10B has 50257", self.failure(3, *self.words))

    def test_checksums(self):
        name = "fineweb_train_000002.bin"
        good = self.server.files[name]
        self.server.files[name] = good[:-1] + bytes([good[-1] ^ 1])
        self.assertIn("its SHA-256 is", self.failure(3, *self.words))
        self.assertFalse(os.path.exists(self.path("d/" + name)))
        self.assertFalse(os.path.exists(self.path("d/" + name + ".part")))
        self.server.files[name] = good
        self.output(*self.words)
        self.check()

    def test_servers_that_never_end(self):
        self.server.endless = True
        self.assertIn("more than the", self.failure(3, *self.words))
        self.assertFalse(self.server.endless_taken)
        part = self.path("d/vocab.json.part")
        self.assertTrue(not os.path.exists(part) or os.path.getsize(part) <= 100_000_000)
        self.server.endless = False
        for name in os.listdir(self.path("d")):
            os.unlink(self.path("d/" + name))
        self.output(*self.words)
        os.unlink(self.path("d/fineweb_val_000000.bin"))
        self.server.endless = True  # now for a shard: its header says how long it is
        self.assertIn("more than the 11024 bytes", self.failure(3, *self.words))

    def test_links_are_not_written_through(self):
        os.mkdir(self.path("d"))
        self.write("thesis", b"mine")
        os.symlink(self.path("thesis"), self.path("d/vocab.json.part"))
        self.failure(1, *self.words)
        self.assertEqual(self.read("thesis"), b"mine")

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
        self.assertEqual(os.listdir(self.path("e")), [])  # no empty .part


unittest.main()
