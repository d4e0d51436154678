"""The same run has the same bits at any number of threads and however it is watched.

    test_same_bits.py PROGRAM
"""
import os
import pty
import shutil
import subprocess
import sys
import tempfile

import harness

STEPS = 6


def on_terminal(lab, command):
    """Runs with a terminal as standard error, so that the progress bar is drawn."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([lab.program, *command], stdout=subprocess.DEVNULL,
                               stderr=follower)
    os.close(follower)
    drawn = b""
    try:
        while chunk := os.read(leader, 4096):
            drawn += chunk
    except OSError:
        pass  # the other end is closed
    os.close(leader)
    assert process.wait() == 0
    assert (b"[#" in drawn or "━".encode() in drawn) and b"loss" in drawn, f"no bar in {drawn!r}"


def main():
    variants = [("--threads", 1), ("--threads", 2), ("--threads", 4), ("--quiet",), ("--json",),
                ("--telemetry-every", 2), ("--tensorboard",), ("--val-loss-every", 0),
                ("--sample-every", 2), ("--checkpoint-freq", 0)]
    with tempfile.TemporaryDirectory(prefix="mousse-bits-") as folder:
        lab = harness.Lab(sys.argv[1], folder)
        for fine in (["--lora-rank", 3], ["--freeze", "wte|h.0", "--separate-documents"], ["--n-layer", 5, "--lora-rank", 2]):
            seen = set()
            for variant in (["--threads", 1], ["--threads", 3, "--recompute", "on"], ["--recompute", "off"]):
                lab.train(lab.folder / "run", "mousse", STEPS, *fine, *variant)
                seen.add(harness.digest(lab.folder / "run", STEPS))
                shutil.rmtree(lab.folder / "run")
            assert len(seen) == 1, f"{fine}: {seen}"
            print(f"{fine}: one checksum", flush=True)
        for optimizer in harness.OPTIMIZERS:
            seen = {}
            for variant in variants if optimizer == "mousse" else variants[:3]:
                out = lab.folder / "run"
                lab.train(out, optimizer, STEPS, *variant)
                seen[variant] = harness.digest(out, STEPS)
                shutil.rmtree(out)
            on_terminal(lab, lab.command(lab.folder / "run", optimizer, STEPS))
            seen["terminal"] = harness.digest(lab.folder / "run", STEPS)
            shutil.rmtree(lab.folder / "run")
            assert len(set(seen.values())) == 1, f"{optimizer}: {seen}"
            other = lab.folder / "other"
            lab.train(other, optimizer, STEPS, "--seed", 2)
            assert harness.digest(other, STEPS) not in seen.values(), "the seed has no effect"
            shutil.rmtree(other)
            print(f"{optimizer}: {len(seen)} variants, one checksum", flush=True)


main()
