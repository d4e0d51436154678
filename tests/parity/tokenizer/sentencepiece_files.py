"""A SentencePiece model trained here, as the tokenizer.json that Hugging Face's converter makes of one.

usage: sentencepiece_files.py PLAIN TEXT OUT

Trains BPE with byte fallback on PLAIN as Llama's was trained, writes OUT/prepend/tokenizer.json (Llama 2, TinyLlama)
and OUT/metaspace/tokenizer.json (newer Mistral files), prints these names, and writes SentencePiece's ids of TEXT to
OUT/ids.bin (uint16).
"""
import io
import json
import pathlib
import sys

import numpy
import sentencepiece

SPACE = "\u2581"


def train(plain):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(plain), model_writer=model, vocab_size=1200, model_type="bpe", byte_fallback=True,
        character_coverage=0.9995, split_digits=True, allow_whitespace_only_pieces=True, num_threads=1,
        normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def merges_of(vocabulary, scores):
    """All pairs of tokens that are a token together, the best token first."""
    found = []
    for token, score in scores.items():
        pairs = [(token[:i], token[i:]) for i in range(1, len(token))]
        pairs = [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
        pairs.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        found += [(pair, score) for pair in pairs]
    found.sort(key=lambda item: item[1], reverse=True)
    return [" ".join(pair) for pair, _ in found]


def tokenizer(processor):
    count = processor.get_piece_size()
    pieces = [processor.id_to_piece(i) for i in range(count)]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    normal = [i for i in range(count)
              if not (processor.is_control(i) or processor.is_unknown(i) or processor.is_byte(i))]
    added = [{"id": i, "content": pieces[i], "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in range(3)]
    start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE},
            {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": [start, text], "pair": [start, text],
                           "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": vocabulary,
                  "merges": merges_of(vocabulary, {pieces[i]: processor.get_score(i) for i in normal})},
    }


def main():
    plain, text, out = map(pathlib.Path, sys.argv[1:])
    processor = train(plain)
    file = tokenizer(processor)
    metaspace = {**file, "normalizer": None, "pre_tokenizer": {
        "type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": False}}
    for name, content in (("prepend", file), ("metaspace", metaspace)):
        (out / name).mkdir(parents=True)
        (out / name / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
        print(name)
    ids = processor.encode(text.read_bytes().decode())
    numpy.array(ids, dtype="<u2").tofile(out / "ids.bin")


main()
