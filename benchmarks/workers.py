"""Programs that take turns: each answers a line on standard input with a number of seconds."""
import os
import subprocess

# PyTorch's fastest setting here: all cores, and threads that sleep while they wait.
TORCH_SETTINGS = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(os.cpu_count())}


class Worker:
    def __init__(self, *command, **settings):
        if os.sep in str(command[0]) and not os.access(command[0], os.X_OK):
            raise SystemExit(f"{command[0]} is missing: cmake --preset release && cmake --build --preset release")
        self.process = subprocess.Popen([str(part) for part in command], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **settings})

    def ask(self, question):
        print(question, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args[0]} ended early")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
