"""The model in PyTorch, written from its formulas (docs/model.md), and safetensors in plain Python.

The parity test and the speed comparison both use it.
"""
import json
import math
import struct

import numpy
import torch
import torch.nn.functional as F


def tensor_shapes(config):
    V, C = config["vocab_size"], config["n_embd"]
    shapes = {"transformer.wte.weight": (V, C)}
    for i in range(config["n_layer"]):
        layer = f"transformer.h.{i}."
        for name in ("c_q", "c_k", "c_v", "c_proj"):
            shapes[f"{layer}attn.{name}.weight"] = (C, C)
        shapes[f"{layer}mlp.c_fc.weight"] = (4 * C, C)
        shapes[f"{layer}mlp.c_proj.weight"] = (C, 4 * C)
    shapes["lm_head.weight"] = (V, C)
    return shapes


def random_weights(config, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, (rows, cols) in tensor_shapes(config).items():
        deviation = 1.0
        if name != "transformer.wte.weight":
            deviation = min(1.0, math.sqrt(rows / cols)) / math.sqrt(cols)
        weights[name] = (torch.randn(rows, cols, generator=generator) * deviation).requires_grad_()
    return weights


class Rope:
    """Tables of cosines and sines for a length, and the mask, made once."""

    def __init__(self, config, length):
        size = config["n_embd"] // config["n_head"]
        frequency = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        self.cos, self.sin = angle.cos().float(), angle.sin().float()
        self.mask = torch.full((length, length), -math.inf).triu(1)

    def to(self, dtype):
        self.cos, self.sin, self.mask = (t.to(dtype) for t in (self.cos, self.sin, self.mask))
        return self

    def __call__(self, x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * self.cos + x2 * self.sin, x2 * self.cos - x1 * self.sin), dim=-1)


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps)


def forward(config, weights, rope, tokens):
    """Logits of every position; tokens is B x T."""
    B, T = tokens.shape
    heads, C = config["n_head"], config["n_embd"]
    x = F.embedding(tokens, weights["transformer.wte.weight"])
    for i in range(config["n_layer"]):
        layer = f"transformer.h.{i}."
        h = rms(x)
        q, k, v = (F.linear(h, weights[f"{layer}attn.{n}.weight"]).view(B, T, heads, -1).transpose(1, 2)
                   for n in ("c_q", "c_k", "c_v"))
        q, k = rms(rope(q)), rms(rope(k))
        scores = torch.baddbmm(rope.mask, q.reshape(B * heads, T, -1),
                               k.reshape(B * heads, T, -1).transpose(1, 2),
                               alpha=1.0 / math.sqrt(C // heads))
        y = torch.bmm(torch.softmax(scores, -1), v.reshape(B * heads, T, -1))
        y = y.view(B, heads, T, -1).transpose(1, 2).reshape(B, T, C)
        x = x + F.linear(y, weights[f"{layer}attn.c_proj.weight"])
        h = F.linear(rms(x), weights[f"{layer}mlp.c_fc.weight"])
        x = x + F.linear(F.relu(h).square(), weights[f"{layer}mlp.c_proj.weight"])
    return F.linear(rms(x), weights["lm_head.weight"])


def loss_of(logits, targets):
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.detach().float().numpy().tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors
