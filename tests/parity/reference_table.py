"""The model for any table of layers (docs/model.md), in PyTorch, written from the formulas.

config has the members of config.json; absent ones are the paper's choices.
"""
import math
import re

import torch
import torch.nn.functional as F

FLOAT_EPSILON = torch.finfo(torch.float32).eps


class Table:
    """The configuration with its defaults."""

    def __init__(self, config):
        get = config.get
        self.V, self.L, self.H = config["vocab_size"], config["n_layer"], config["n_head"]
        self.C, self.context = config["n_embd"], config["sequence_len"]
        self.K = get("n_kv_head", self.H)
        self.D = get("head_size", self.C // self.H)
        self.W = get("mlp_width", 4 * self.C)
        self.norm, self.position = get("norm", "rms"), get("position", "rope")
        self.qk_norm, self.mlp = get("qk_norm", "rms"), get("mlp", "relu2")
        self.qkv_bias, self.proj_bias = get("qkv_bias", False), get("proj_bias", False)
        self.mlp_bias, self.tied = get("mlp_bias", False), get("tied", False)
        self.epsilon = get("epsilon", FLOAT_EPSILON)
        self.theta = get("rope_theta", 10000.0)
        self.scaling, self.factor = get("rope_scaling", "none"), get("rope_factor", 1.0)
        self.rank = get("lora_rank", 0)
        self.alpha = get("lora_alpha", 2 * self.rank)
        self.low, self.high, self.trained = get("rope_low"), get("rope_high"), get("rope_context")


def tensor_shapes(config):
    t = Table(config)
    shapes = {"transformer.wte.weight": (t.V, t.C)}
    if t.position == "learned":
        shapes["transformer.wpe.weight"] = (t.context, t.C)

    def norm(name):
        if t.norm != "rms":
            shapes[f"{name}.weight"] = (t.C,)
        if t.norm == "layer_norm":
            shapes[f"{name}.bias"] = (t.C,)

    def linear(name, rows, cols, bias):
        shapes[f"{name}.weight"] = (rows, cols)
        if t.rank and re.search(config.get("lora_targets", ""), f"{name}.weight"):
            shapes[f"{name}.lora_a"], shapes[f"{name}.lora_b"] = (t.rank, cols), (rows, t.rank)
        if bias:
            shapes[f"{name}.bias"] = (rows,)

    for i in range(t.L):
        layer = f"transformer.h.{i}"
        norm(f"{layer}.ln_1")
        linear(f"{layer}.attn.c_q", t.H * t.D, t.C, t.qkv_bias)
        linear(f"{layer}.attn.c_k", t.K * t.D, t.C, t.qkv_bias)
        linear(f"{layer}.attn.c_v", t.K * t.D, t.C, t.qkv_bias)
        linear(f"{layer}.attn.c_proj", t.C, t.H * t.D, t.proj_bias)
        if t.qk_norm == "gain":
            shapes[f"{layer}.attn.q_norm.weight"] = (t.D,)
            shapes[f"{layer}.attn.k_norm.weight"] = (t.D,)
        norm(f"{layer}.ln_2")
        if t.mlp == "swiglu":
            linear(f"{layer}.mlp.c_gate", t.W, t.C, t.mlp_bias)
        linear(f"{layer}.mlp.c_fc", t.W, t.C, t.mlp_bias)
        linear(f"{layer}.mlp.c_proj", t.C, t.W, t.mlp_bias)
    norm("transformer.ln_f")
    if not t.tied:
        shapes["lm_head.weight"] = (t.V, t.C)
    return shapes


def random_weights(config, seed):
    """Large enough everywhere, gains and biases included, for every term to count."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in tensor_shapes(config).items():
        deviation = 1.0 if len(shape) == 1 or ".wte." in name else 1.0 / math.sqrt(shape[-1])
        weights[name] = torch.randn(*shape, generator=generator) * deviation
    return weights


def rms(x, epsilon):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)


def apply_norm(t, weights, name, x):
    if t.norm == "layer_norm":
        return F.layer_norm(x, (t.C,), weights[f"{name}.weight"], weights[f"{name}.bias"], t.epsilon)
    x = rms(x, t.epsilon)
    return x * weights[f"{name}.weight"] if t.norm == "rms_gain" else x


def frequencies(t):
    f = t.theta ** (-torch.arange(0, t.D, 2, dtype=torch.float64) / t.D)
    if t.scaling == "linear":
        return f / t.factor
    if t.scaling == "llama3":
        wave = 2 * math.pi / f
        smooth = (t.trained / wave - t.low) / (t.high - t.low)
        between = smooth * f + (1 - smooth) * f / t.factor
        slow, fast = wave > t.trained / t.low, wave < t.trained / t.high
        return torch.where(slow, f / t.factor, torch.where(fast, f, between))
    return f


def turn(t, x):
    """x: B x heads x T x D, by -a for "rope", by +a for "rope_llama"."""
    if t.position == "learned":
        return x
    angle = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), frequencies(t)).to(x.dtype)
    if t.position == "rope":
        angle = -angle
    cos, sin = angle.cos(), angle.sin()
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


def heads(t, weights, layer, q, k):
    if t.qk_norm == "gain":
        q = rms(q, t.epsilon) * weights[f"{layer}.attn.q_norm.weight"]
        k = rms(k, t.epsilon) * weights[f"{layer}.attn.k_norm.weight"]
    q, k = turn(t, q), turn(t, k)
    return (rms(q, t.epsilon), rms(k, t.epsilon)) if t.qk_norm == "rms" else (q, k)


def linear(t, weights, name, x):
    y = F.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))
    if f"{name}.lora_a" in weights:
        y = y + t.alpha / t.rank * x @ weights[f"{name}.lora_a"].T @ weights[f"{name}.lora_b"].T
    return y


def attention(t, weights, layer, x, starts=None):
    B, T, _ = x.shape
    q, k, v = (linear(t, weights, f"{layer}.attn.{n}", x).view(B, T, -1, t.D).transpose(1, 2)
               for n in ("c_q", "c_k", "c_v"))
    q, k = heads(t, weights, layer, q, k)
    k, v = (y.repeat_interleave(t.H // t.K, dim=1) for y in (k, v))
    mask = torch.full((T, T), -math.inf, dtype=x.dtype).triu(1)
    if starts is not None:  # B x T: where the document of each position begins
        before = torch.arange(T) < starts.unsqueeze(-1)
        mask = torch.where(before, -math.inf, mask).unsqueeze(1)
    p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(t.D) + mask, -1)
    return linear(t, weights, f"{layer}.attn.c_proj", (p @ v).transpose(1, 2).reshape(B, T, -1))


def mlp(t, weights, layer, x):
    h = linear(t, weights, f"{layer}.mlp.c_fc", x)
    if t.mlp == "relu2":
        h = F.relu(h).square()
    elif t.mlp == "gelu":
        h = 0.5 * h * (1 + torch.erf(h / math.sqrt(2)))
    elif t.mlp == "gelu_tanh":
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
    else:
        gate = linear(t, weights, f"{layer}.mlp.c_gate", x)
        h = gate * torch.sigmoid(gate) * h
    return linear(t, weights, f"{layer}.mlp.c_proj", h)


def forward(config, weights, tokens, starts=None):
    """Logits of every position; tokens and starts are B x T."""
    t = Table(config)
    x = F.embedding(tokens, weights["transformer.wte.weight"])
    if t.position == "learned":
        x = x + weights["transformer.wpe.weight"][: tokens.shape[1]]
    for i in range(t.L):
        layer = f"transformer.h.{i}"
        x = x + attention(t, weights, layer, apply_norm(t, weights, f"{layer}.ln_1", x), starts)
        x = x + mlp(t, weights, layer, apply_norm(t, weights, f"{layer}.ln_2", x))
    x = apply_norm(t, weights, "transformer.ln_f", x)
    return F.linear(x, weights["transformer.wte.weight" if t.tied else "lm_head.weight"])
