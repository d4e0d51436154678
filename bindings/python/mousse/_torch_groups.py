"""Which parameter of a model gets which algorithm: by the layer it belongs to, never by its shape alone.

    matrix     weights of Linear, Conv and Bilinear layers        the matrix algorithm
    embedding  weights of Embedding layers                        the element-wise one, no decay
    head       a Linear as wide as an embedding, or tied to one   the element-wise one, no decay
    vector     one dimension: biases and gains                    the element-wise one, no decay
"""
from __future__ import annotations

import torch

from . import _tables
from ._errors import InvalidArgument

_roles = ("matrix", "embedding", "head", "vector")
_matrix_layers = (torch.nn.Linear, torch.nn.Bilinear, torch.nn.modules.conv._ConvNd, torch.nn.MultiheadAttention)


def _owners(model):
    """(name, parameter, layer) of every parameter once, however often it is tied."""
    seen = {}
    for prefix, layer in model.named_modules():
        for short, param in layer.named_parameters(recurse=False):
            if param.requires_grad:
                seen.setdefault(id(param), (f"{prefix}.{short}".lstrip("."), param, []))[2].append(layer)
    return seen.values()


def _role(name, param, layers, widths):
    if any(isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)) for layer in layers):
        return "embedding"
    if param.dim() < 2 or min(param.shape[0], param.numel() // max(1, param.shape[0])) == 1:
        return "vector"
    if any(isinstance(layer, torch.nn.Linear) and layer.out_features in widths for layer in layers):
        return "head"
    if any(isinstance(layer, _matrix_layers) for layer in layers):
        return "matrix"
    raise InvalidArgument(f"{name} ({'x'.join(map(str, param.shape))}, in {type(layers[0]).__name__}) belongs to no "
                          f"layer that groups() knows; say what it is: roles={{'{name}': 'matrix'}}, or "
                          "embedding, head or vector")


def groups(model: torch.nn.Module, algorithm: str = "mousse", rest: str = "adamw", *, rest_lr: float | None = None,
           roles: dict[str, str] | None = None, verbose: bool = False, **options) -> list[dict]:
    """Groups for Optimizer: hidden matrices under `algorithm`, all else under `rest` without decay.

    options are those of the matrix group; rest_lr is the learning rate of the others (its default when
    None). roles overrides the layer's role by name. verbose prints which parameter went where.
    """
    roles = dict(roles or {})
    widths = {layer.num_embeddings for layer in model.modules() if isinstance(layer, torch.nn.Embedding)}
    chosen = {role: [] for role in _roles}
    for name, param, layers in _owners(model):
        role = roles.pop(name, None) or _role(name, param, layers, widths)
        if role not in chosen:
            raise InvalidArgument(f"{name} cannot be '{role}'; a role is one of {', '.join(_roles)}")
        chosen[role].append((name, param))
    if roles:
        raise InvalidArgument(f"the model has no parameter {next(iter(roles))!r}")
    if verbose:
        print(_table(chosen, algorithm, rest))
    return _as_groups(chosen, algorithm, rest, rest_lr, options)


def _as_groups(chosen, algorithm, rest, rest_lr, options):
    made = []
    for role, pairs in chosen.items():
        if not pairs:
            continue
        group = {"params": [p for _, p in pairs], "names": [n for n, _ in pairs],
                 "algorithm": algorithm if role == "matrix" else rest}
        if role == "matrix":
            group.update(options)
        else:
            group["lr"] = _tables.options(rest)["lr"].initial if rest_lr is None else rest_lr
            group["weight_decay"] = 0.0
        made.append(group)
    return made


def _table(chosen, algorithm, rest):
    rows = [(name, "x".join(map(str, param.shape)), role, algorithm if role == "matrix" else rest)
            for role, pairs in chosen.items() for name, param in pairs]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)
