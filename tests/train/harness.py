"""A tiny training run to break: made, killed, continued and compared by its checksums."""
import hashlib
import json
import os
import pathlib
import random
import subprocess

OPTIMIZERS = ("mousse", "muon", "soap", "adamw")


class Lab:
    """A folder with a data set and the program that trains on it."""

    def __init__(self, program, folder):
        self.program = os.path.realpath(program)
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        words = "the cat dog sat on a mat ran to red old house and then saw it again".split()
        chance = random.Random(5)
        text = " ".join(chance.choice(words) for _ in range(4000))
        (self.folder / "text.txt").write_text(text)
        self.call("tokenize", self.folder / "text.txt", "--val-fraction", "0.1", "--out",
                  self.data, "--quiet")

    def call(self, *words, check=True, **more):
        return subprocess.run([self.program, *map(str, words)], check=check, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def command(self, out, optimizer="mousse", steps=12, *more):
        refresh = ["--opt.refresh_every", "5"] if optimizer in ("mousse", "soap") else []
        return ["train", "--data-dir", str(self.data), "--out", str(out), "--optimizer",
                optimizer, "--model-dim", "32", "--n-layer", "2", "--n-head", "2",
                "--sequence-length", "32", "--batch-size", "4", "--device-batch-size", "2",
                "--num-iterations", str(steps), "--checkpoint-freq", "3", "--val-loss-every", "4",
                "--threads", "1", *refresh, *map(str, more)]

    def train(self, out, optimizer="mousse", steps=12, *more, check=True):
        return self.call(*self.command(out, optimizer, steps, *more), check=check)


def steps_of(run):
    folder = pathlib.Path(run) / "checkpoints"
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def digest(run, step):
    """One checksum of all files of a checkpoint: weights, optimizer, trainer, manifest."""
    total = hashlib.sha256()
    for path in sorted((pathlib.Path(run) / "checkpoints" / f"step-{step:010d}").iterdir()):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def check_metrics(run, steps):
    """Every step is in the metrics exactly once."""
    lines = [json.loads(line) for line in (pathlib.Path(run) / "metrics.jsonl").open()]
    seen = [line["step"] for line in lines if "loss" in line]
    assert seen == list(range(1, steps + 1)), f"{run}: steps in metrics.jsonl are {seen}"
    validated = [line["step"] for line in lines if "val_loss" in line]
    assert len(validated) == len(set(validated)), f"{run}: validated twice: {validated}"
