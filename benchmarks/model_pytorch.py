"""Times forward and backward of the same model in PyTorch; driven by benchmarks/model.

    model_pytorch.py CONFIG_JSON BATCH SEQUENCE TOKENS

answers each line "step" on standard input with the seconds of one step, "loss" with the loss. The paper's model and
Llamas are written for speed: one product for each matrix, no copies of keys and values for the heads that share them,
tables of angles and the mask made once.
"""
import json
import math
import pathlib
import sys
import time

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "parity"))
import reference_gpt as reference  # noqa: E402
import reference_table  # noqa: E402


class Llama:
    def __init__(self, config, sequence):
        self.table = t = reference_table.Table(config)
        angle = torch.outer(torch.arange(sequence, dtype=torch.float64), reference_table.frequencies(t)).float()
        self.cos, self.sin = (torch.cat((x, x), -1) for x in (angle.cos(), angle.sin()))
        # the rows of the heads that share keys follow each other
        self.mask = torch.full((sequence, sequence), -math.inf).triu(1).repeat(t.H // t.K, 1)

    def turn(self, x):
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat((-second, first), -1) * self.sin

    def norm(self, x, gain):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.table.epsilon) * gain

    def attention(self, x, weights, layer):
        t = self.table
        B, T, _ = x.shape
        q, k, v = (F.linear(x, weights[f"{layer}.attn.{n}.weight"]).view(B, T, -1, t.D).transpose(1, 2)
                   for n in ("c_q", "c_k", "c_v"))
        q = self.turn(q).reshape(B * t.K, -1, t.D)
        k, v = self.turn(k).reshape(B * t.K, T, t.D), v.reshape(B * t.K, T, t.D)
        scores = torch.baddbmm(self.mask, q, k.transpose(1, 2), alpha=1.0 / math.sqrt(t.D))
        y = torch.bmm(torch.softmax(scores, -1), v).view(B, t.H, T, t.D).transpose(1, 2).reshape(B, T, -1)
        return F.linear(y, weights[f"{layer}.attn.c_proj.weight"])

    def forward(self, weights, tokens):
        x = F.embedding(tokens, weights["transformer.wte.weight"])
        for i in range(self.table.L):
            layer = f"transformer.h.{i}"
            x = x + self.attention(self.norm(x, weights[f"{layer}.ln_1.weight"]), weights, layer)
            h = self.norm(x, weights[f"{layer}.ln_2.weight"])
            h = F.silu(F.linear(h, weights[f"{layer}.mlp.c_gate.weight"])) * F.linear(h, weights[f"{layer}.mlp.c_fc.weight"])
            x = x + F.linear(h, weights[f"{layer}.mlp.c_proj.weight"])
        return F.linear(self.norm(x, weights["transformer.ln_f.weight"]), weights["transformer.wte.weight"])


def main():
    config = json.loads(pathlib.Path(sys.argv[1]).read_text())
    batch, sequence = map(int, sys.argv[2:4])
    if config.get("mlp") == "swiglu":
        weights, llama = reference_table.random_weights(config, seed=1), Llama(config, sequence)
        weights = {name: weight.requires_grad_() for name, weight in weights.items()}

        def loss():
            return reference.loss_of(llama.forward(weights, tokens), targets)
    else:
        weights, rope = reference.random_weights(config, seed=1), reference.Rope(config, sequence)

        def loss():
            return reference.loss_of(reference.forward(config, weights, rope, tokens), targets)

    both = numpy.fromfile(sys.argv[4], dtype="<u4").astype("int64").reshape(2, batch, sequence)
    tokens, targets = torch.from_numpy(both)
    for line in sys.stdin:
        start = time.perf_counter()
        for weight in weights.values():
            weight.grad = None
        value = loss()
        value.backward()
        print(value.item() if line.strip() == "loss" else time.perf_counter() - start, flush=True)


main()
