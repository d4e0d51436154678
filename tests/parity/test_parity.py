"""Loss, logits and every gradient of our model against PyTorch autograd in double precision.

    test_parity.py MODEL_DUMP     (the program built from model_dump.c)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch

import reference_gpt as reference

# vocabulary, layers, heads, width, B, T: several head counts, B = 1, T off the attention block.
CASES = [
    (101, 2, 2, 64, 3, 70),
    (257, 3, 4, 128, 1, 193),
    (512, 2, 8, 256, 2, 128),
    (50, 1, 3, 66, 2, 1),
]
LOSS_LIMIT, GRADIENT_LIMIT, LOGIT_LIMIT = 1e-5, 1e-4, 1e-4


def run_case(program, folder, case):
    vocabulary, layers, heads, width, B, T = case
    config = {"vocab_size": vocabulary, "n_layer": layers, "n_head": heads, "n_embd": width,
              "sequence_len": T, "some_other_program": "ignored"}
    weights = reference.random_weights(config, seed=sum(case))
    generator = torch.Generator().manual_seed(7)
    tokens, targets = torch.randint(vocabulary, (2, B, T), generator=generator)
    (folder / "config.json").write_text(json.dumps(config))
    reference.write_safetensors(folder / "model.safetensors", weights)
    both = torch.stack((tokens, targets)).to(torch.int32).numpy()
    (folder / "tokens.bin").write_bytes(both.tobytes())

    # In double precision, so that the difference is all ours.
    weights = {name: w.detach().double().requires_grad_() for name, w in weights.items()}
    rope = reference.Rope(config, T).to(torch.float64)
    logits = reference.forward(config, weights, rope, tokens)
    loss = reference.loss_of(logits, targets)
    loss.backward()

    ours = float(subprocess.run([program, folder, str(B), str(T)], check=True, text=True,
                                stdout=subprocess.PIPE).stdout)
    findings = [("loss", abs(ours - loss.item()), LOSS_LIMIT)]
    our_logits = reference.read_safetensors(folder / "logits.safetensors")["logits"]
    expected = logits[0, T - our_logits.shape[0]:]
    findings.append(("logits", (our_logits - expected).abs().max().item(), LOGIT_LIMIT))
    gradients = reference.read_safetensors(folder / "gradients.safetensors")
    assert gradients.keys() == weights.keys()
    for name, weight in weights.items():
        # The exact gradient of q and k at T = 1 is 0: there the bound is an absolute one.
        norm = max(weight.grad.norm().item(), 1e-2)
        findings.append((name, (gradients[name] - weight.grad).norm().item() / norm, GRADIENT_LIMIT))
    return findings


def main():
    failed = False
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            findings = run_case(sys.argv[1], pathlib.Path(folder), case)
        worst = max(findings[2:], key=lambda finding: finding[1])
        print(f"{case}: loss {findings[0][1]:.1e}, logits {findings[1][1]:.1e}, "
              f"worst gradient {worst[1]:.1e} ({worst[0]})")
        for name, difference, limit in findings:
            if not difference <= limit:
                failed = True
                print(f"  {name}: differs by {difference:.3e}, at most {limit:.0e} expected")
    sys.exit(1 if failed else 0)


main()
