"""mousse watch over sockets: forged, broken, slow and many clients; files that break, grow and vanish.

    test_server.py PROGRAM
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
import unittest
import unittest.mock
import urllib.request

PROGRAM = sys.argv.pop()

import server  # noqa: E402  (sets the way to the next ones)
import harness  # noqa: E402
import made_runs  # noqa: E402

SECRET = "nobody may see this"


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def wait_for(condition, what, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"never: {what}")
        time.sleep(0.05)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mousse-watch-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.runs = self.folder / "runs"
        self.runs.mkdir()
        (self.folder / "secret.txt").write_text(SECRET)

    def rows(self, s):
        return {row["run"]: row for row in s.json("/api/runs")["runs"]}


class Requests(Case):
    """One server for many odd requests; it answers in order afterwards."""

    def setUp(self):
        super().setUp()
        self.run_folder = made_runs.write_run(self.runs, "mousse", 0.02, 1, steps=50)
        self.server = server.Server(PROGRAM, self.runs)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        wait_for(lambda: self.rows(self.server), "a run in the table")

    def tearDown(self):
        self.assertEqual(self.server.get("/api/runs")[0], 200)

    def test_headers(self):
        for path in ("/", "/api/runs", "/watch.js", "/nowhere"):
            _, headers, _ = self.server.get(path)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn("Access-Control-Allow-Origin", headers)
        page = self.server.get("/")[2].decode()
        self.assertNotRegex(page, r"(src|href)=\"(https?:)?//")
        self.assertNotRegex(page, r"<script>|style=|onclick")

    def test_forged_hosts_and_origins(self):
        for host in ("evil.com", "evil.com:%d" % self.server.port, "127.0.0.1.nip.io", "0.0.0.0", "a" * 5000):
            status, _, body = self.server.get("/api/runs", Host=host)
            self.assertIn(status, (400, 413, 414, 421, 431), host)
            self.assertNotIn(b"mousse-lr", body)
        for headers in ({"Origin": "http://evil.com"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
            status, _, body = self.server.get("/api/runs", **headers)
            self.assertEqual(status, 403)
            self.assertNotIn(b"mousse-lr", body)
        self.assertEqual(self.server.get("/api/runs", Origin=f"http://127.0.0.1:{self.server.port}")[0], 200)
        self.assertEqual(self.server.raw(b"GET /api/runs HTTP/1.0\r\n\r\n")[8:12], b" 421")

    def test_only_reads(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
            self.assertIn(self.server.get("/api/runs", method=method)[0], (405, 501), method)
        self.assertEqual(self.server.get("/api/runs", body=b"x" * 1000)[0], 413)

    def test_no_way_out(self):
        paths = ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//etc/passwd", "/api/run?run=..",
                 "/api/run?run=../secret.txt", "/api/run?run=%2e%2e%2fsecret.txt", "/api/run?run=/etc/passwd",
                 "/api/curvature?run=..", "/report.html?run=../..", "/api/run?run=" + "../" * 50 + "etc/passwd"]
        for path in paths:
            line = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            answer = self.server.raw(line)
            self.assertNotIn(SECRET.encode(), answer, path)
            self.assertNotIn(b"root:", answer, path)
            if "report" not in path:
                self.assertEqual(answer[:12], b"HTTP/1.1 404", path)

    def test_random_requests(self):
        """Bytes of all kinds, many connections: the server lives and gives nothing away."""
        chance = random.Random(7)
        whole = b"GET /api/run?run=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nCookie: a=b\r\n\r\nabc"
        for _ in range(20):
            self.assertNotIn(SECRET.encode(), self.send_all([self.odd(chance, whole) for _ in range(50)]))

    def odd(self, chance, whole):
        data = bytearray(whole if chance.random() < 0.7 else chance.randbytes(chance.randrange(400)))
        for _ in range(chance.randrange(8)):
            data[chance.randrange(len(data)):chance.randrange(len(data) + 1)] = chance.randbytes(chance.randrange(20))
            data = data or bytearray(b"G")
        return bytes(data)

    def send_all(self, requests):
        """What comes back to all of them within a moment; many leave the server waiting for the rest."""
        links, answers = [], b""
        for request in requests:
            link = self.server.open()
            link.sendall(request)
            links.append(link)
        time.sleep(0.1)
        for link in links:
            link.setblocking(False)
            try:
                answers += link.recv(1 << 20)
            except OSError:
                pass
            link.close()
        return answers

    def test_slow_clients(self):
        """200 that send a byte now and then, and 100 that say nothing: others are served as before."""
        slow = [self.server.open() for _ in range(300)]
        for turn in range(3):
            for link in slow[:200]:
                link.sendall(b"GET /api/runs"[turn:turn + 1])
            for _ in range(20):
                self.assertEqual(self.server.get("/api/runs")[0], 200)
        streams = [self.server.open() for _ in range(80)]
        for link in streams:
            link.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heads = [link.recv(12) for link in streams]
        self.assertEqual(heads.count(b"HTTP/1.1 200"), 64)
        self.assertEqual(heads.count(b"HTTP/1.1 503"), 16)
        self.assertEqual(self.server.get("/api/runs")[0], 200)
        for link in slow + streams:
            link.close()

    def test_news_come_by_the_stream(self):
        with self.server.open() as link:
            link.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while b'"version"' not in text:
                text += link.recv(4096)
            with open(self.run_folder / "metrics.jsonl", "a") as file:
                file.write('{"step": 51, "tokens": 51, "loss": 1.5, "lr": 1, "grad_norm": 1, "seconds": 1}\n')
            step = 50
            while step != 51:  # other news may come first: a client that looks after each of them sees the step
                told = text.count(b"event: change")
                while text.count(b"event: change") == told:
                    text += link.recv(4096)
                step = self.rows(self.server)["mousse-lr0.02-seed1"]["step"]
        self.assertIn(b"mousse-lr0.02-seed1", text)

    def test_news_of_more_runs_than_are_named(self):
        """Then every page must look: one on a run that is not named would stand still."""
        step = '{"step": %d, "tokens": 1, "loss": 1, "lr": 1, "grad_norm": 1, "seconds": 1}\n'
        folders = [self.runs / f"many-{i:03d}" for i in range(130)]
        for folder in folders:
            folder.mkdir()
            (folder / "config.yaml").write_text("num_iterations: 4\n")
            (folder / "metrics.jsonl").write_text(step % 1)
        wait_for(lambda: len(self.rows(self.server)) == 131, "all runs")
        with self.server.open() as link:
            link.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while b"}" not in text.partition(b"event: change")[2]:
                text += link.recv(4096)
            self.server.process.send_signal(signal.SIGSTOP)  # it sees them all at once
            for folder in folders:
                with open(folder / "metrics.jsonl", "a") as file:
                    file.write(step % 2)
            self.server.process.send_signal(signal.SIGCONT)
            while b"}" not in text.rpartition(b"event: change")[2] or text.count(b"event: change") < 2:
                text += link.recv(4096)
        news = [json.loads(part.partition(b"}")[0] + b"}") for part in text.split(b"\ndata: ")[2:]]
        self.assertTrue(any(n["list"] or "many-129" in n["runs"] for n in news), news)


class Token(Case):
    def test_bound_to_all_addresses(self):
        made_runs.write_run(self.runs, "muon", 0.02, 1, steps=5)
        with server.Server(PROGRAM, self.runs, "--bind", "0.0.0.0") as s:
            self.assertRegex(s.query, r"^token=[0-9a-f]{32}$")
            self.assertEqual(s.get("/api/runs")[0], 401)
            self.assertEqual(s.get("/", Cookie=f"mousse_token_{s.port}=" + 32 * "0")[0], 401)
            status, headers, _ = s.get("/?" + s.query)
            self.assertEqual(status, 200)
            self.assertIn("HttpOnly; SameSite=Strict", headers["Set-Cookie"])
            cookie = headers["Set-Cookie"].split(";")[0]
            self.assertEqual(s.get("/api/runs", Cookie=cookie)[0], 200)
            self.assertEqual(s.get("/api/runs", Cookie=cookie, Host="evil.com")[0], 421)
            bearer = "Bearer " + s.query.split("=")[1]
            self.assertEqual(s.get("/api/runs", Authorization=bearer)[0], 200)

    def test_bad_options(self):
        for options, words in ((["--bind", "nowhere"], "expected an address"), (["--token", "a b"], "letters, digits"),
                               (["--bind", "0.0.0.0", "--token", "x" * 60 + "\n"], "letters, digits")):
            done = subprocess.run([PROGRAM, "watch", str(self.runs), *options], capture_output=True, text=True, timeout=600)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def test_the_browser_is_not_ended_with_the_page(self):
        """Ctrl-C goes to all processes of a group: the browser is in another one."""
        browser, seen = self.folder / "xdg-open", self.folder / "seen"
        browser.write_text(f'#!/bin/sh\necho "$1" "$(cut -d" " -f5 /proc/$$/stat)" > {seen}.new && mv {seen}.new {seen}\n')
        browser.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, PATH=path), server.Server(PROGRAM, self.runs, "--open") as s:
            wait_for(seen.exists, "the browser")
            address, group = seen.read_text().split()
            self.assertEqual(address, s.address)
            self.assertNotEqual(int(group), os.getpgid(s.process.pid))

    def test_a_port_that_is_taken(self):
        with server.Server(PROGRAM, self.runs) as first, server.Server(PROGRAM, self.runs) as second:
            self.assertNotEqual(first.port, second.port)
            done = subprocess.run([PROGRAM, "watch", str(self.runs), "--port", str(first.port)], capture_output=True,
                                  text=True, timeout=600)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"port {first.port}", done.stderr)


class Files(Case):
    def test_they_break_grow_and_vanish(self):
        run = made_runs.write_run(self.runs, "mousse", 0.02, 1, steps=30)
        name = run.name
        with server.Server(PROGRAM, self.runs) as s:
            wait_for(lambda: self.rows(s).get(name, {}).get("step") == 30, "all steps")
            lines = (run / "metrics.jsonl").read_text().splitlines(True)
            (run / "metrics.jsonl").write_text("".join(lines[:10]) + "\0\xff{]\n" * 3 + '{"step": 9e99}\n' + "".join(lines[10:20]))
            wait_for(lambda: 0 < self.rows(s)[name]["step"] < 30, "a file that was replaced")
            (run / "metrics.jsonl").unlink()
            wait_for(lambda: self.rows(s)[name]["step"] == 0, "a file that vanished")
            (run / "metrics.jsonl").mkdir()
            (run / "result.json").write_text("{")
            (run / "history.jsonl").write_text("[]\n")
            (run / "config.yaml").write_text("lr: [")
            wait_for(lambda: self.rows(s)[name].get("problem"), "options that cannot be read")
            self.assertEqual(s.get("/api/run?run=" + name)[0], 200)
            shutil.rmtree(run)
            wait_for(lambda: not self.rows(s), "a run that is gone")
            made_runs.write_run(self.runs / "sweep", "muon", 0.1, 3, steps=5)
            wait_for(lambda: self.rows(s), "a new run")

    def test_links_lead_nowhere(self):
        run = made_runs.write_run(self.runs, "mousse", 0.02, 1, steps=5)
        outside = made_runs.write_run(self.folder / "elsewhere", "muon", 0.02, 7, steps=5)
        os.symlink(outside, self.runs / "linked")
        os.symlink("/", self.runs / "root")
        (run / "events.jsonl").symlink_to(self.folder / "secret.txt")
        (run / "metrics.jsonl").unlink()
        (run / "metrics.jsonl").symlink_to(outside / "metrics.jsonl")
        with server.Server(PROGRAM, self.runs) as s:
            wait_for(lambda: self.rows(s), "the run")
            self.assertEqual(list(self.rows(s)), [run.name])
            self.assertEqual(self.rows(s)[run.name]["step"], 0)
            for path in ("/api/run", "/api/curvature", "/report.html"):
                self.assertNotIn(SECRET.encode(), s.get(f"{path}?run={run.name}")[2])

    def test_names_and_texts_of_all_kinds(self):
        odd = ['a<img src=x onerror=alert(1)>"\'&', "\u202egnp.exe", "a\tb\nc", "x" * 200, "%2e%2e", "a..", "\U0001f9c1"]
        for i, name in enumerate(odd):
            made_runs.write_run(self.runs, "muon", 0.02, i, steps=3).rename(self.runs / name)
        bad = {b"bad\xff": "bad\ufffdff", b"bad\xfe": "bad\ufffdfe"}  # not UTF-8: two runs all the same
        for i, name in enumerate(bad):
            os.rename(made_runs.write_run(self.runs, "muon", 0.02, 98 + i, steps=3), os.fsencode(self.runs) + b"/" + name)
        with server.Server(PROGRAM, self.runs) as s:
            wait_for(lambda: ["seed" in row for row in self.rows(s).values()] == [True] * len(odd + list(bad)),
                     "all of them, with their options")
            for i, name in enumerate(bad.values()):
                self.assertEqual(s.json("/api/run", run=name)["name"], name)
                self.assertEqual(s.json("/api/run", run=name)["seed"], 98 + i)
            with s.open() as link:  # the first news are all runs, by the same names
                link.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                text = b""
                while b"}" not in text.partition(b"event: change")[2]:
                    text += link.recv(4096)
            for name in bad.values():
                self.assertIn(json.dumps(name, ensure_ascii=False).encode(), text)
            for name in odd:
                self.assertEqual(s.json("/api/run", run=name)["name"], name)

    def test_a_million_steps(self):
        """100 runs of 10,000 steps: what is sent stays small, and no peak is lost."""
        first = made_runs.write_run(self.runs, "mousse", 0.02, 0, steps=10000, every=500)
        entries = [json.loads(line, parse_float=lambda text: float(f"{float(text):.9g}"))
                   for line in (first / "metrics.jsonl").read_text().splitlines()]  # nine digits, as runs write them
        entries[7777]["loss"] = 99.5
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        for i in range(1, 100):
            run = self.runs / f"run-{i}"
            run.mkdir()
            (run / "config.yaml").write_text((first / "config.yaml").read_text().replace("seed: 0", f"seed: {i}"))
            (run / "metrics.jsonl").write_text(text)
        started = time.monotonic()
        with server.Server(PROGRAM, self.runs) as s:
            wait_for(lambda: sum(r["step"] for r in self.rows(s).values()) == 1000000, "a million steps")
            data = s.get("/api/runs")[2]
            print(f"first table of 100 runs and 10^6 steps after {time.monotonic() - started:.2f} s, {len(data)} bytes",
                  flush=True)
            asked = time.monotonic()
            run = s.json("/api/run", run="run-5")
            print(f"one run: {time.monotonic() - asked:.3f} s; memory {s.memory() / 1e6:.0f} MB", flush=True)
            series = run["series"]
            self.assertLessEqual(len(series["step"]), 1200)
            self.assertEqual(series["step"][-1], 10000)
            self.assertEqual(max(series["columns"]["loss"]["high"]), 99.5)
            self.assertLess(len(data), 200000)
            part = s.json("/api/run", run="run-5", steps=f'{series["layout"]},{len(series["step"]) - 1}')["series"]
            self.assertEqual(len(part["step"]), 1)
            self.assertEqual(part["columns"]["loss"]["mean"][0], series["columns"]["loss"]["mean"][-1])


class Training(Case):
    def test_a_watched_run_ends_in_the_same_bits(self):
        lab = harness.Lab(PROGRAM, self.folder)
        lab.train(self.folder / "alone", "mousse", 12)
        with server.Server(PROGRAM, self.runs) as s:
            stop = threading.Event()

            def look():
                while not stop.is_set():
                    for path in ("/api/runs", "/api/run?run=seen", "/api/curvature?run=seen", "/api/report"):
                        s.get(path)

            lookers = [threading.Thread(target=look) for _ in range(3)]
            for thread in lookers:
                thread.start()
            lab.train(self.runs / "seen", "mousse", 12)
            wait_for(lambda: self.rows(s).get("seen", {}).get("state") == "complete", "the end of the run")
            stop.set()
            for thread in lookers:
                thread.join()
        self.assertEqual(harness.digest(self.folder / "alone", 12), harness.digest(self.runs / "seen", 12))

    def test_a_run_is_seen_running(self):
        lab = harness.Lab(PROGRAM, self.folder)
        with server.Server(PROGRAM, self.runs) as s:
            process = subprocess.Popen([lab.program, *lab.command(self.runs / "long", "mousse", 100000, "--wd", "0.1")],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for(lambda: self.rows(s).get("long", {}).get("state") == "running", "a run that runs")
                wait_for(lambda: self.rows(s)["long"]["step"] > 5, "its steps")
                run = s.json("/api/run", run="long")
                self.assertGreater(run["left"], 0)
                self.assertGreater(run["rate"], 0)
                self.assertEqual(run["started"]["step"], 0)
                self.assertGreater(run["series"]["columns"]["memory"]["mean"][0], 1e6)
                origins = {o["name"]: o["origin"] for o in run["all_options"]}
                self.assertEqual(origins["batch_size"], "command line")
                self.assertEqual(origins["patience"], "default")
                self.assertEqual(origins["weight_decay"], "command line")  # as --wd
                self.assertEqual(origins["shampoo_update_freq"], "command line")  # as --opt.refresh_every
            finally:
                process.terminate()
                process.wait(60)
            wait_for(lambda: self.rows(s)["long"]["state"] == "stopped", "its end")
            events = [e["event"] for e in s.json("/api/run", run="long")["events"]]
            self.assertEqual((events[0], events[-1]), ("started", "ended"))
            self.assertIn("checkpoint", events)


class Beside(Case):
    def test_a_page_beside_a_run(self):
        """train --watch: its page is there while it trains, whatever it is called, and gone when it has ended."""
        lab = harness.Lab(PROGRAM, self.folder)
        process = subprocess.Popen([lab.program, *lab.command("-long", "mousse", 100000), "--watch"], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.runs)
        try:
            address = next(line.split()[1] for line in process.stderr if line.startswith("watch "))
            wait_for(lambda: (self.steps(address) or 0) > 3, "its steps")
        finally:
            process.terminate()
            process.stderr.read()
            process.stderr.close()
            process.wait(60)
        wait_for(lambda: self.steps(address) is None, "the end of its page")

    def steps(self, address):
        try:
            with urllib.request.urlopen(address + "api/runs", timeout=10) as answer:
                runs = json.load(answer)["runs"]
        except OSError:
            return None
        return runs[0]["step"] if runs else 0


class Terminal(Case):
    def screen(self, **environment):
        done = subprocess.run([PROGRAM, "watch", str(self.runs), "--terminal"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_80_columns(self):
        made_runs.write_sweep(self.runs)
        made_runs.write_run(self.runs, "lion", 0.02, 1, steps=9).rename(self.runs / ("\x1b[31m red\ttab " + 9 * "\u4e2d\u6587"))
        for unicode in ("C.UTF-8", "C"):
            lines = self.screen(LC_ALL=unicode, COLUMNS="80")
            self.assertEqual(len(lines), 3 + 32)
            self.assertTrue(all(columns_of(line) <= 80 for line in lines), lines)
            self.assertEqual(len({columns_of(line[:line.index(" complete ")]) for line in lines if " complete " in line}), 1)
            self.assertFalse(any("\x1b" in line for line in lines))
            self.assertEqual(any("\u2581" in line for line in lines), unicode == "C.UTF-8")
            self.assertTrue(any("complete 100%" in line and " 3.1803 " in line for line in lines), lines)
        wide = self.screen(LC_ALL="C.UTF-8", COLUMNS="140")
        self.assertTrue(any("mousse-lr0.04opt.graftoff-seed1 " in line for line in wide))

    def test_no_runs(self):
        self.assertIn("no runs yet", self.screen()[-1])


if __name__ == "__main__":
    unittest.main()
