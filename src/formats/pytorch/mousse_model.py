"""A model trained with Mousse, in plain PyTorch.

    python3 mousse_model.py [FOLDER] "1 2 3"      # the most probable next tokens, as ids

    from mousse_model import load
    model = load("FOLDER")                        # config.json and model.safetensors
    logits = model(torch.tensor([[1, 2, 3]]))     # batch x length x vocabulary

config.json is a table of layers: norm, position, qk_norm, mlp, biases, tied; what is absent has the
value of the paper's model. The file needs nothing but PyTorch.
"""
import json
import math
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    data = bytearray(pathlib.Path(path).read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(data[begin:end], dtype=TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).float()
    return tensors


class Model(torch.nn.Module):
    def __init__(self, config, tensors):
        super().__init__()
        get = config.get
        self.layers, self.heads, width = config["n_layer"], config["n_head"], config["n_embd"]
        self.kv_heads = get("n_kv_head", self.heads)
        self.size = get("head_size", width // self.heads)
        self.norm_kind, self.position = get("norm", "rms"), get("position", "rope")
        self.qk_norm, self.mlp_kind = get("qk_norm", "rms"), get("mlp", "relu2")
        self.epsilon = get("epsilon", torch.finfo(torch.float32).eps)
        self.register_buffer("frequencies", self.angles(config), persistent=False)
        self.weights = torch.nn.ParameterDict(
            {name.replace(".", "/"): torch.nn.Parameter(t) for name, t in tensors.items()})
        self.head = "transformer.wte.weight" if get("tied") else "lm_head.weight"

    def angles(self, config):
        get = config.get
        steps = torch.arange(0, self.size, 2, dtype=torch.float64)
        f = get("rope_theta", 10000.0) ** (-steps / self.size)
        if get("rope_scaling") == "linear":
            f = f / config["rope_factor"]
        elif get("rope_scaling") == "llama3":
            turns = config["rope_context"] * f / (2 * math.pi)
            low, high = config["rope_low"], config["rope_high"]
            smooth = ((turns - low) / (high - low)).clamp(0, 1)
            f = smooth * f + (1 - smooth) * f / config["rope_factor"]
        return f

    def w(self, name):
        name = name.replace(".", "/")
        return self.weights[name] if name in self.weights else None

    def linear(self, name, x):
        return F.linear(x, self.w(f"{name}.weight"), self.w(f"{name}.bias"))

    def rms(self, x, gain=None):
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon)
        return x if gain is None else x * gain

    def norm(self, name, x):
        gain = self.w(f"{name}.weight")
        if self.norm_kind == "layer_norm":
            return F.layer_norm(x, x.shape[-1:], gain, self.w(f"{name}.bias"), self.epsilon)
        return self.rms(x, gain)

    def turn(self, x):
        """x: batch x heads x length x size."""
        if self.position == "learned":
            return x
        positions = torch.arange(x.shape[2], dtype=torch.float64, device=x.device)
        angle = torch.outer(positions, self.frequencies)
        if self.position == "rope":  # the paper turns the other way
            angle = -angle
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)

    def attention(self, layer, x):
        batch, length, _ = x.shape
        q, k, v = (self.linear(f"{layer}.attn.{n}", x).view(batch, length, -1, self.size).transpose(1, 2)
                   for n in ("c_q", "c_k", "c_v"))
        if self.qk_norm == "gain":
            q = self.rms(q, self.w(f"{layer}.attn.q_norm.weight"))
            k = self.rms(k, self.w(f"{layer}.attn.k_norm.weight"))
        q, k = self.turn(q), self.turn(k)
        if self.qk_norm == "rms":
            q, k = self.rms(q), self.rms(k)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, dim=1) for y in (k, v))
        mask = torch.full((length, length), -math.inf, dtype=x.dtype, device=x.device).triu(1)
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.size) + mask, -1)
        return self.linear(f"{layer}.attn.c_proj", (p @ v).transpose(1, 2).reshape(batch, length, -1))

    def mlp(self, layer, x):
        h = self.linear(f"{layer}.mlp.c_fc", x)
        if self.mlp_kind == "relu2":
            h = F.relu(h).square()
        elif self.mlp_kind == "swiglu":
            h = F.silu(self.linear(f"{layer}.mlp.c_gate", x)) * h
        elif self.mlp_kind == "gelu":
            h = F.gelu(h)
        else:
            h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
        return self.linear(f"{layer}.mlp.c_proj", h)

    def forward(self, tokens):
        x = F.embedding(tokens, self.w("transformer.wte.weight"))
        if self.position == "learned":
            x = x + self.w("transformer.wpe.weight")[: tokens.shape[1]]
        for i in range(self.layers):
            layer = f"transformer.h.{i}"
            x = x + self.attention(layer, self.norm(f"{layer}.ln_1", x))
            x = x + self.mlp(layer, self.norm(f"{layer}.ln_2", x))
        return F.linear(self.norm("transformer.ln_f", x), self.w(self.head))


def load(folder):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    return Model(config, read_safetensors(folder / "model.safetensors"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    tokens = torch.tensor([[int(word) for word in sys.argv[-1].split()]])
    with torch.no_grad():
        logits = load(folder)(tokens)[0, -1]
    for value, token in zip(*logits.topk(min(5, len(logits)))):
        print(f"{token.item()} {value.item():.6f}")


if __name__ == "__main__":
    main()
