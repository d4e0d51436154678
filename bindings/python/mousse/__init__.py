"""Mousse: optimizers for neural networks, in C, for PyTorch and numpy on CPUs.

    import mousse.torch
    optimizer = mousse.torch.Optimizer(mousse.torch.groups(model), lr=0.02)

Every algorithm of the library is here: `mousse.algorithms()` lists them, `print(mousse.describe("muon"))`
has an algorithm's options. docs/python.md is the guide.
"""
from ._errors import (BadFormat, CommunicationFailed, Error, InvalidArgument, NoMemory, NotFinite, OutOfRange,
                      UnknownName, WrongPhase)
from ._library import version as __version__
from ._tables import Input, Option, algorithm_help, algorithms, describe, inputs, options

__all__ = ["BadFormat", "CommunicationFailed", "Error", "Input", "InvalidArgument", "NoMemory", "NotFinite", "Option",
           "OutOfRange", "UnknownName", "WrongPhase", "__version__", "algorithm_help", "algorithms", "describe",
           "inputs", "options"]
