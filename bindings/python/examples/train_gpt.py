"""A small GPT in PyTorch, trained with Mousse, in the format that `mousse generate` reads.

    python3 train_gpt.py book.txt --out model
    mousse generate --init model --tokenizer bytes --prompt "It was"

Tokens are the bytes of the text. The model is the one of docs/model.md.
"""
import argparse
import json
import math
import pathlib
import struct

import mousse.torch
import torch
import torch.nn.functional as F

VOCABULARY = 257  # bytes, and the end of a text


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps)


def linear(inputs, outputs):
    layer = torch.nn.Linear(inputs, outputs, bias=False)
    torch.nn.init.normal_(layer.weight, std=min(1.0, math.sqrt(outputs / inputs)) / math.sqrt(inputs))
    return layer


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_q, self.c_k, self.c_v, self.c_proj = (linear(width, width) for _ in range(4))

    def rotate(self, x):
        half, length = x.shape[-1] // 2, x.shape[-2]
        angle = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(half) / half))
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * angle.cos() + x2 * angle.sin(), x2 * angle.cos() - x1 * angle.sin()), dim=-1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (layer(x).view(batch, length, self.heads, -1).transpose(1, 2)
                   for layer in (self.c_q, self.c_k, self.c_v))
        q, k = rms(self.rotate(q)), rms(self.rotate(k))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        scores = scores + torch.full((length, length), -math.inf).triu(1)
        y = torch.softmax(scores, -1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))


class MLP(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.relu(self.c_fc(x)).square())


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn, self.mlp = Attention(width, heads), MLP(width)

    def forward(self, x):
        x = x + self.attn(rms(x))
        return x + self.mlp(rms(x))


class GPT(torch.nn.Module):
    def __init__(self, width, layers, heads):
        super().__init__()
        self.transformer = torch.nn.ModuleDict({
            "wte": torch.nn.Embedding(VOCABULARY, width),
            "h": torch.nn.ModuleList(Block(width, heads) for _ in range(layers))})
        self.lm_head = linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.transformer["wte"](tokens)
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(rms(x))


def save(net, folder, config):
    """model.safetensors (a length, a header in JSON, the numbers) and config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    header, data = {}, b""
    for name, value in net.state_dict().items():
        numbers = value.contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text(json.dumps(config))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("model"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    chosen = parser.parse_args()
    torch.manual_seed(1)

    text, length, batch, heads = torch.tensor(list(chosen.text.read_bytes())), 64, 16, 4
    net = GPT(chosen.width, chosen.layers, heads)
    optimizer = mousse.torch.Optimizer(mousse.torch.groups(net, nesterov=True, mu=0.9, lr=0.05, rest_lr=0.01))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [g["lr"] for g in optimizer.param_groups],
                                                   total_steps=chosen.steps, cycle_momentum=False)
    for step in range(chosen.steps):
        starts = torch.randint(0, len(text) - length - 1, (batch, 1))
        windows = text[starts + torch.arange(length + 1)]
        loss = F.cross_entropy(net(windows[:, :-1]).reshape(-1, VOCABULARY), windows[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step + 1 == chosen.steps:
            print(f"step {step} loss {loss.item():.4f}")
    save(net, chosen.out, {"vocab_size": VOCABULARY, "n_layer": chosen.layers, "n_head": heads,
                           "n_embd": chosen.width, "sequence_len": length})


if __name__ == "__main__":
    main()
