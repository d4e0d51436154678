"""Tokenizers with added tokens that are not special, and a text that has them everywhere.

usage: added.py OUT TEXT TOKENIZER_JSON...     writes OUT/NAME/tokenizer.json, NAME being the name of the folder that the
                                              file is in, and OUT/text.txt, and prints the names
       added.py --apart ...                   no tokens that overlap, and no text that normal form C changes
"""
import json
import pathlib
import random
import sys

FOUND = ["<think>", "</think>", "<thinking", "<t", "<tool_call>", "New  York", "\n\n\n", "\n\n\n\n", " " * 8, " " * 16, "_init",
         "na\u00efve", "\u4e2d\u6587", "\U0001F600", "qu"]
OVERLAP = ["of the", "the License", "e Lic"]
# Found in text that is in normal form; a file that puts a space before every text cannot have them.
LATE = ["void", "caf\u00e9", "<late>", "License,"]
ACCENTS = ["cafe\u0301", "<late>\u0338", "<think>\u0338", "a\u0301", "<t\u0323>"]


def with_tokens(tokenizer, apart):
    """Late ones also where nothing is normalised, but then not what overlaps the others: libraries differ in that."""
    normalizer = tokenizer["normalizer"]
    prepends = normalizer is not None and normalizer["type"] == "Sequence"
    vocabulary = tokenizer["model"]["vocab"]
    count = len(vocabulary)
    added = tokenizer["added_tokens"]
    late = [] if prepends or apart else LATE if normalizer is not None else LATE[:3]
    for content in FOUND + ([] if apart else OVERLAP) + late:
        known = vocabulary.get(content)
        spelled = content.replace(" ", "\u0120").replace("\n", "\u010a")
        if known is None and spelled in vocabulary:
            continue  # the same bytes have an id already
        if known is None:
            known, count = count, count + 1
        added.append({"id": known, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                      "normalized": content in late, "special": False})
    return tokenizer


def with_names(text, apart):
    """Tokens between and inside of words, alone and many in a row, whole and cut short."""
    draw = random.Random(7)
    names = FOUND + LATE[2:3] + ([] if apart else OVERLAP + LATE + ACCENTS)
    parts, at = [], 0
    while at < len(text):
        step = draw.randrange(1, 120)
        parts.append(text[at : at + step])
        at += step
        kind = draw.randrange(6)
        row = 200 if draw.randrange(200) == 0 else draw.randrange(1, 4)
        name = "".join(draw.choice(names) for _ in range(row))
        parts.append(name if kind < 4 else f" {name} " if kind == 4 else name[: draw.randrange(len(name))])
    return "".join(parts)


def main():
    apart = sys.argv[1] == "--apart"
    out, text, *files = map(pathlib.Path, sys.argv[1 + apart :])
    for file in files:
        tokenizer = with_tokens(json.loads(file.read_text(encoding="utf-8")), apart)
        (out / file.parent.name).mkdir(parents=True)
        (out / file.parent.name / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        print(file.parent.name)
    (out / "text.txt").write_bytes(with_names(text.read_bytes().decode(), apart).encode())


main()
