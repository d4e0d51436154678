"""A tokenizer.json with the split rules of other models, as their files have them.

usage: rules.py TOKENIZER_JSON OUT        writes OUT/NAME/tokenizer.json and prints the names
"""
import json
import pathlib
import sys

BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def split(digits):
    words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    rest = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    return {"type": "Split", "pattern": {"Regex": words + digits + rest}, "behavior": "Isolated", "invert": False}


RULES = {
    "llama3": ([split(r"\p{N}{1,3}"), {**BYTES, "use_regex": False}], None),
    "qwen": ([split(r"\p{N}"), {**BYTES, "use_regex": False}], {"type": "NFC"}),
    "smollm": ([{"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}], None),
}


def main():
    tokenizer, out = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    for name, (steps, normalizer) in RULES.items():
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
        tokenizer["normalizer"] = normalizer
        (out / name).mkdir(parents=True)
        (out / name / "tokenizer.json").write_text(json.dumps(tokenizer))
        print(name)


main()
