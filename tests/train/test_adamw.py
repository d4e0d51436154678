"""Five AdamW steps from the same weights and tokens give PyTorch's losses.

    test_adamw.py PROGRAM
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "parity"))
import reference_gpt as reference

CONFIG = {"vocab_size": 96, "n_layer": 2, "n_head": 2, "n_embd": 64, "sequence_len": 48}
STEPS, BATCH, LR, DECAY, LIMIT = 5, 4, 0.01, 0.1, 1e-4


def write_shard(path, tokens):
    header = struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253)
    path.write_bytes(header + tokens.to(torch.int16).numpy().tobytes())


def torch_losses(weights, tokens):
    """Windows in order, as the program reads them with --no-shuffle."""
    T = CONFIG["sequence_len"]
    rope = reference.Rope(CONFIG, T)
    hidden = [w for name, w in weights.items() if ".h." in name]
    others = [w for name, w in weights.items() if ".h." not in name]
    optimizer = torch.optim.AdamW([{"params": hidden, "weight_decay": DECAY},
                                   {"params": others, "weight_decay": 0.0}],
                                  lr=LR, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for step in range(STEPS):
        windows = [tokens[(step * BATCH + b) * T:][:T + 1] for b in range(BATCH)]
        batch = torch.stack(windows).long()
        loss = reference.loss_of(reference.forward(CONFIG, weights, rope, batch[:, :-1]),
                                 batch[:, 1:].contiguous())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def our_losses(program, folder):
    subprocess.run([program, "train", "--init", folder, "--data-dir", folder / "data", "--out",
                    folder / "run", "--optimizer", "adamw", "--lr", str(LR), "--weight-decay",
                    str(DECAY), "--scheduler-type", "constant", "--warmup-ratio", "0",
                    "--no-shuffle", "--batch-size", str(BATCH), "--device-batch-size", "2",
                    "--num-iterations", str(STEPS), "--quiet"], check=True)
    lines = (folder / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines if '"loss"' in line]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        weights = reference.random_weights(CONFIG, seed=3)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        reference.write_safetensors(folder / "model.safetensors", weights)
        count = STEPS * BATCH * CONFIG["sequence_len"] + 1
        generator = torch.Generator().manual_seed(7)
        tokens = torch.randint(CONFIG["vocab_size"], (count,), generator=generator)
        (folder / "data").mkdir()
        write_shard(folder / "data" / "x_train_000000.bin", tokens)
        theirs, ours = torch_losses(weights, tokens), our_losses(sys.argv[1], folder)
    print("PyTorch", " ".join(f"{x:.6f}" for x in theirs))
    print("mousse ", " ".join(f"{x:.6f}" for x in ours))
    assert len(ours) == STEPS
    worst = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"largest difference {worst:.1e}, at most {LIMIT:.0e} allowed")
    sys.exit(worst > LIMIT)


main()
