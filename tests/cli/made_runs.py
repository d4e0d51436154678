"""Run directories with made-up, smooth losses: the same bytes each time, in no time."""
import json
import math
import pathlib


def write_run(folder, optimizer, lr, seed, steps=400, level=3.2, diverges=False, every=20, options="", bits=False,
              status=None):
    """A run whose loss falls from 6.2 to about `level`, or blows up. Returns its directory."""
    run = pathlib.Path(folder) / f"{optimizer}-lr{lr:g}{options.replace(': ', '')}-seed{seed}"
    run.mkdir(parents=True)
    lines = [f"optimizer: {optimizer}", f"lr: {lr:g}", f"seed: {seed}", f"num_iterations: {steps}", "preset: nano"]
    (run / "config.yaml").write_text("\n".join(lines + [options] * bool(options)) + "\n")
    ends = steps if not diverges else steps // 5
    with open(run / "metrics.jsonl", "w") as file:
        for step in range(0, ends + 1):
            smooth = level + (6.2 - level) * math.exp(-6 * step / steps) + 0.01 * math.sin(seed + step / 17)
            loss = 6.2 + 40 * (step / ends) ** 2 if diverges else smooth
            if step > 0:
                noise = 0.05 * math.sin(step * 12.9898 + seed)
                file.write(json.dumps({"step": step, "tokens": step * 8192, "loss": loss + noise, "lr": lr,
                                       "grad_norm": 1.0, "seconds": 0.05 + 0.01 * len(optimizer)}) + "\n")
            if step % every == 0 or step == ends:
                line = {"step": step, "tokens": step * 8192, "val_loss": loss}
                if bits:
                    line["val_bits_per_byte"] = loss / math.log(2) / 2.5
                file.write(json.dumps(line) + "\n")
    (run / "result.json").write_text(json.dumps({
        "status": status or ("diverged" if diverges else "complete"), "steps": ends,
        "peak_bytes": (40 + 2 * len(optimizer)) << 20, "wall_seconds": 20, "cpu_seconds": 20}))
    return run


def write_sweep(folder):
    """Two settings of Mousse, Muon and AdamW, three seeds each, and learning rates that are too high."""
    for seed in (1, 2, 3):
        for lr, level in ((0.02, 3.35), (0.04, 3.24), (0.08, 3.30)):
            write_run(folder, "mousse", lr, seed, level=level, bits=True)
            write_run(folder, "mousse", lr, seed, level=level - 0.06, options="opt.graft: off", bits=True)
            write_run(folder, "muon", lr, seed, level=level + 0.05, bits=True)
        write_run(folder, "adamw", 0.008, seed, level=3.6, bits=True)
    write_run(folder, "mousse", 5, 1, diverges=True, bits=True)
