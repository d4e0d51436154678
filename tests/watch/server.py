"""A 'mousse watch' of its own for a test, and raw requests to it."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE.parent / "train")]


class Server:
    def __init__(self, program, directory, *options):
        self.process = subprocess.Popen([os.path.realpath(program), "watch", str(directory), *options], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.process.communicate()[1]
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port, self.query = parts.hostname, parts.port, parts.query

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            out, errors = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert self.process.returncode == 0, (self.process.returncode, out, errors)

    def get(self, path, method="GET", body=None, **headers):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), data

    def json(self, path, **arguments):
        pairs = [(k, v) for k, values in arguments.items() for v in ([values] if isinstance(values, str) else values)]
        status, _, data = self.get(path + ("?" + urllib.parse.urlencode(pairs) if pairs else ""))
        assert status == 200, (status, data)
        return json.loads(data)

    def raw(self, data, timeout=10):
        """What comes back to these bytes, up to the end of the connection or a silence."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as link:
            answer = b""
            try:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                while part := link.recv(65536):
                    answer += part
            except OSError:
                pass
            return answer

    def open(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096
