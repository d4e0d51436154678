"""Which parameter of a model gets which algorithm: by the layer it belongs to, never by its shape alone.

    matrix     weights of Linear, Conv and Bilinear layers        the matrix algorithm
    transposed weights of transposed Conv layers: inputs first   the matrix algorithm
    qkv        queries, keys and values on top of each other      the matrix algorithm, on each of the three
    embedding  weights of Embedding layers                        the element-wise one, no decay
    head       a Linear that answers in an embedding's entries    the element-wise one, no decay
    vector     one dimension: biases and gains                    the element-wise one, no decay
"""
from __future__ import annotations

import re

import torch

from . import _tables
from ._errors import InvalidArgument

_roles = ("matrix", "transposed", "qkv", "embedding", "head", "vector")
_by_matrix_algorithm = ("matrix", "transposed", "qkv")
_matrix_layers = (torch.nn.Linear, torch.nn.Bilinear, torch.nn.modules.conv._ConvNd, torch.nn.MultiheadAttention)


def _owners(model):
    """(name, parameter, layer) of every parameter once, however often it is tied."""
    seen = {}
    for prefix, layer in model.named_modules():
        for short, param in layer.named_parameters(recurse=False):
            if param.requires_grad:
                seen.setdefault(id(param), (f"{prefix}.{short}".lstrip("."), param, []))[2].append(layer)
    return seen.values()


def _last_word(name):
    """lm_head of transformer.lm_head.weight, and of lm_head.0.weight."""
    words = [word for word in name.split(".")[:-1] if not word.isdigit()]
    return words[-1] if words else ""


def _heads(model):
    """The Linear layers that answer in the entries of an Embedding: those that are tied to one or called so and,
    without any, all that are as wide as the largest. That a layer is as wide as a table is not enough: one of
    positions may have as many entries as hidden layers have outputs."""
    tables = [layer for layer in model.modules() if isinstance(layer, torch.nn.Embedding)]
    tied, entries = {id(table.weight) for table in tables}, {table.num_embeddings for table in tables}
    fit = [(name, layer) for name, layer in model.named_modules()
           if isinstance(layer, torch.nn.Linear) and layer.out_features in entries]
    heads = [layer for name, layer in fit if id(layer.weight) in tied or
             re.search(r"(^|_)heads?$|unembed|^embed_out$", _last_word(f"{name}.weight"))]
    return {id(layer) for layer in heads or [layer for _, layer in fit if layer.out_features == max(entries)]}


def _is_qkv(name, param, layers):
    """Layers that are known to hold all queries, then all keys, then all values. Those of other names, or with the
    three of each head together (GPT-NeoX, BLOOM), stay whole."""
    if param.dim() != 2 or param.shape[0] != 3 * param.shape[1]:
        return False
    if any(isinstance(layer, torch.nn.MultiheadAttention) for layer in layers):
        return name.endswith("in_proj_weight")
    return _last_word(name) in ("c_attn", "qkv", "qkv_proj", "Wqkv", "to_qkv")


def _role(name, param, layers, heads):
    if any(isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)) for layer in layers):
        return "embedding"
    if param.dim() < 2 or min(param.shape[0], param.numel() // max(1, param.shape[0])) == 1:
        return "vector"
    if any(id(layer) in heads for layer in layers):
        return "head"
    if any(isinstance(layer, torch.nn.modules.conv._ConvTransposeNd) for layer in layers):
        return "transposed"
    if any(isinstance(layer, _matrix_layers) for layer in layers):
        return "qkv" if _is_qkv(name, param, layers) else "matrix"
    raise InvalidArgument(f"{name} ({'x'.join(map(str, param.shape))}, in {type(layers[0]).__name__}) belongs to no "
                          f"layer that groups() knows; say what it is: roles={{'{name}': 'matrix'}}, or "
                          "transposed, qkv, embedding, head or vector")


def groups(model: torch.nn.Module, algorithm: str = "mousse", rest: str = "adamw", *, rest_lr: float | None = None,
           roles: dict[str, str] | None = None, verbose: bool = False, **options) -> list[dict]:
    """Groups for Optimizer: hidden matrices under `algorithm`, all else under `rest` without decay.

    Parameters that need no gradient are left out. options are those of the matrix group; rest_lr is the learning rate of the others (its default when
    None). roles overrides the layer's role by name. verbose prints which parameter went where.
    """
    roles = dict(roles or {})
    heads = _heads(model)
    chosen = {role: [] for role in _roles}
    for name, param, layers in _owners(model):
        role = roles.pop(name, None) or _role(name, param, layers, heads)
        if role not in chosen:
            raise InvalidArgument(f"{name} cannot be '{role}'; a role is one of {', '.join(_roles)}")
        chosen[role].append((name, param))
    if roles:
        raise InvalidArgument(f"the model has no parameter {next(iter(roles))!r} that needs a gradient; one that is tied has "
                              "the first of its names")
    if verbose:
        print(_table(chosen, algorithm, rest))
    return _as_groups(chosen, algorithm, rest, rest_lr, options)


def _as_groups(chosen, algorithm, rest, rest_lr, options):
    made = []
    for role, pairs in chosen.items():
        if not pairs:
            continue
        group = {"params": [p for _, p in pairs], "names": [n for n, _ in pairs],
                 "algorithm": algorithm if role in _by_matrix_algorithm else rest}
        if role in _by_matrix_algorithm:
            group.update(options)
        else:
            group["lr"] = _tables.options(rest)["lr"].initial if rest_lr is None else rest_lr
            group["weight_decay"] = 0.0
        if role == "transposed":
            group["transposed"] = True
        if role == "qkv":
            group["row_blocks"] = 3
        made.append(group)
    return made


def _table(chosen, algorithm, rest):
    rows = [(name, "x".join(map(str, param.shape)), role, algorithm if role in _by_matrix_algorithm else rest)
            for role, pairs in chosen.items() for name, param in pairs]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)
