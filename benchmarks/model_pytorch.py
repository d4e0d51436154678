"""Times forward and backward of the same model in PyTorch; driven by benchmarks/model.

    model_pytorch.py VOCABULARY LAYERS HEADS WIDTH BATCH SEQUENCE TOKENS

answers each line "step" on standard input with the seconds of one step.
"""
import pathlib
import sys
import time

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "parity"))
import reference_gpt as reference  # noqa: E402


def main():
    vocabulary, layers, heads, width, batch, sequence = map(int, sys.argv[1:7])
    config = {"vocab_size": vocabulary, "n_layer": layers, "n_head": heads, "n_embd": width}
    weights = reference.random_weights(config, seed=1)
    rope = reference.Rope(config, sequence)
    both = numpy.fromfile(sys.argv[7], dtype="<u4").astype("int64").reshape(2, batch, sequence)
    tokens, targets = torch.from_numpy(both)
    for _ in sys.stdin:
        start = time.perf_counter()
        for weight in weights.values():
            weight.grad = None
        reference.loss_of(reference.forward(config, weights, rope, tokens), targets).backward()
        print(time.perf_counter() - start, flush=True)


main()
