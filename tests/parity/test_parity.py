"""Loss, logits and every gradient of our model against PyTorch autograd in double precision.

    test_parity.py MODEL_DUMP     (the program built from model_dump.c)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch

import reference_gpt as files
import reference_table as reference

GPT2 = {"norm": "layer_norm", "position": "learned", "qk_norm": "none", "mlp": "gelu_tanh",
        "qkv_bias": True, "proj_bias": True, "mlp_bias": True, "tied": True, "epsilon": 1e-5}
LLAMA = {"norm": "rms_gain", "position": "rope_llama", "qk_norm": "none", "mlp": "swiglu",
         "epsilon": 1e-5}
QWEN2 = {**LLAMA, "qkv_bias": True, "rope_theta": 1e6, "epsilon": 1e-6}
QWEN3 = {**LLAMA, "qk_norm": "gain", "rope_theta": 1e6, "tied": True, "epsilon": 1e-6}
LLAMA3 = {"rope_scaling": "llama3", "rope_factor": 8.0, "rope_low": 1.0, "rope_high": 4.0,
          "rope_context": 16, "rope_theta": 500000.0}

# vocabulary, layers, heads, width, B, T: several head counts, B = 1, T off the attention block;
# then every family, and every switch in a combination that no family has.
CASES = [
    ((101, 2, 2, 64, 3, 70), {}),
    ((257, 3, 4, 128, 1, 193), {}),
    ((512, 2, 8, 256, 2, 128), {}),
    ((50, 1, 3, 66, 2, 1), {}),
    ((97, 2, 4, 64, 2, 70), GPT2),
    ((97, 2, 4, 64, 3, 33), {**LLAMA, "n_kv_head": 2, "mlp_width": 172}),
    ((97, 2, 4, 64, 2, 70), {**LLAMA, **LLAMA3, "n_kv_head": 1, "tied": True}),
    ((97, 2, 6, 48, 2, 40), {**QWEN2, "n_kv_head": 2, "mlp_width": 100}),
    ((97, 2, 4, 32, 2, 70), {**QWEN3, "n_kv_head": 2, "head_size": 16, "mlp_width": 60}),
    ((97, 2, 4, 32, 3, 9), {**QWEN3, "head_size": 4, "tied": False}),
    ((60, 2, 3, 30, 2, 20), {"mlp": "gelu", "mlp_bias": True, "norm": "layer_norm"}),
    ((60, 2, 3, 30, 2, 20), {"mlp": "swiglu", "mlp_bias": True, "qkv_bias": True, "tied": True}),
    ((60, 2, 3, 15, 2, 20), {"position": "learned", "qk_norm": "none", "proj_bias": True}),
    ((60, 2, 4, 32, 2, 20), {"position": "learned", "qk_norm": "gain", "n_kv_head": 2}),
    ((60, 1, 4, 32, 2, 20), {"position": "learned", "n_kv_head": 2, "norm": "rms_gain"}),
    ((60, 1, 4, 32, 2, 20), {"position": "rope", "qk_norm": "gain", "rope_scaling": "linear",
                             "rope_factor": 4.0}),
    # Fine-tuning: adapters beside some matrices or all, documents within a sequence, and targets that do not count.
    ((101, 2, 2, 64, 3, 70), {"lora_rank": 4}),
    ((97, 2, 4, 64, 2, 70), {**GPT2, "lora_rank": 3, "lora_alpha": 1.5, "lora_targets": "c_q|c_v|h.1.mlp"}),
    ((97, 2, 4, 64, 3, 33), {**LLAMA, "n_kv_head": 2, "mlp_width": 172, "lora_rank": 8, "lora_alpha": 20.0}),
    ((97, 2, 4, 32, 2, 70), {**QWEN3, "n_kv_head": 2, "head_size": 16, "mlp_width": 60, "lora_rank": 2,
                             "lora_targets": "attn.c_proj|c_gate", "documents": True}),
    ((101, 2, 2, 64, 3, 150), {"documents": True}),
    ((97, 2, 4, 64, 2, 70), {**GPT2, "documents": True, "completions": True}),
    ((97, 2, 4, 64, 2, 133), {**LLAMA, "n_kv_head": 1, "documents": True}),
    ((97, 2, 4, 64, 2, 70), {**LLAMA, "completions": True}),
]
LOSS_LIMIT, GRADIENT_LIMIT, LOGIT_LIMIT = 1e-5, 1e-4, 1e-4


def run_case(program, folder, case):
    (vocabulary, layers, heads, width, B, T), table = case
    config = {"vocab_size": vocabulary, "n_layer": layers, "n_head": heads, "n_embd": width,
              "sequence_len": T, "some_other_program": "ignored", **table}
    weights = reference.random_weights(config, seed=sum(case[0]))
    generator = torch.Generator().manual_seed(7)
    tokens, targets = torch.randint(vocabulary, (2, B, T), generator=generator)
    (folder / "config.json").write_text(json.dumps(config))
    files.write_safetensors(folder / "model.safetensors", weights)
    starts = None
    parts = [tokens, targets]
    if table.get("completions"):
        parts[1] = targets = torch.where(torch.rand(B, T, generator=generator) < 0.6, targets, -1)
    if table.get("documents"):
        begins = torch.where(torch.rand(B, T, generator=generator) < 0.05, torch.arange(T), 0)
        starts = begins.cummax(1).values
        parts.append(starts)
    (folder / "tokens.bin").write_bytes(torch.stack(parts).to(torch.int32).numpy().tobytes())

    # In double precision, so that the difference is all ours.
    weights = {name: w.detach().double().requires_grad_() for name, w in weights.items()}
    logits = reference.forward(config, weights, tokens, starts)
    counts = targets.flatten() >= 0
    loss = files.loss_of(logits.flatten(0, 1)[counts], targets.flatten()[counts])
    loss.backward()

    ours = float(subprocess.run([program, folder, str(B), str(T)], check=True, text=True,
                                stdout=subprocess.PIPE).stdout)
    findings = [("loss", abs(ours - loss.item()) / max(1.0, loss.item()), LOSS_LIMIT)]
    our_logits = files.read_safetensors(folder / "logits.safetensors")["logits"]
    expected = reference.forward(config, weights, tokens[:1])[0, T - our_logits.shape[0]:]
    findings.append(("logits", (our_logits - expected).abs().max().item() / max(1.0, expected.abs().max().item()),
                     LOGIT_LIMIT))
    gradients = files.read_safetensors(folder / "gradients.safetensors")
    trained = {name: w for name, w in weights.items() if not config.get("lora_rank") or ".lora_" in name}
    assert gradients.keys() == trained.keys()
    for name, weight in trained.items():
        # The exact gradient of q and k at T = 1 is 0: there the bound is an absolute one.
        norm = max(weight.grad.norm().item(), 1e-2)
        assert gradients[name].shape == weight.shape, name
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
