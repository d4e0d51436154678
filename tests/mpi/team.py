"""Training under mpirun, on the small runs of ../train/harness.py."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "train"))
import harness  # noqa: E402


class Team(harness.Lab):
    def __init__(self, program, mpirun, folder):
        super().__init__(program, folder)
        self.mpirun = mpirun

    def words(self, ranks, command):
        """The command line for so many ranks; 1: a plain process."""
        launcher = [self.mpirun, "-n", str(ranks)] if ranks > 1 else []
        return [*launcher, self.program, *command]

    def launch(self, ranks, command):
        return subprocess.Popen(self.words(ranks, command), text=True, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, ranks, command, status=0):
        """What it printed; a run that ends otherwise than with this status fails the test."""
        done = subprocess.run(self.words(ranks, command), text=True, errors="replace", timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert (done.returncode == 0) == (status == 0), f"status {done.returncode}: {done.stderr}"
        return done.stdout + done.stderr

    def command(self, out, optimizer="mousse", steps=12, *more):
        """Four shards of two micro-batches."""
        return super().command(out, optimizer, steps, "--batch-size", 8, "--device-batch-size", 1,
                               "--slices", 4, *more)

    def nano(self, out, optimizer, steps, *more):
        """The preset itself, with short sequences."""
        command = super().command(out, optimizer, steps, "--batch-size", 8, "--slices", 4,
                                  "--preset", "nano", "--sequence-length", 64, *more)
        for name in ("--model-dim", "--n-layer", "--n-head"):
            command[command.index(name) + 1] = "0"
        return command


def ranks_below(pid):
    """The processes that an mpirun of this id has started."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == pid:
            found.append(int(entry))
    return sorted(found)
