"""A data set of random tokens, for benchmarks of what does not depend on what is learned."""
import random
import struct


def write_tokens(folder, vocabulary, count=400_000):
    """One shard for training, the same at every call."""
    folder.mkdir()
    chance = random.Random(1)
    tokens = [chance.randrange(vocabulary) for _ in range(count)]
    header = struct.pack("<256i", 20240520, 1, count, *[0] * 253)
    (folder / "random_train_000000.bin").write_bytes(header + struct.pack(f"<{count}H", *tokens))
