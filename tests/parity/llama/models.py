"""Small random models of every family that llama.cpp knows, as folders with the tokenizer beside them.

usage: models.py OUT TOKENIZER_JSON [NAME TOKENIZER_JSON]...     prints the names

NAME is a Llama with that tokenizer.
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import reference_gpt as files  # noqa: E402
import reference_table as reference  # noqa: E402

SIZES = {"n_layer": 2, "n_head": 4, "n_embd": 64, "sequence_len": 128}
LLAMA = {"norm": "rms_gain", "position": "rope_llama", "qk_norm": "none", "mlp": "swiglu", "n_kv_head": 2,
         "mlp_width": 96, "epsilon": 1e-5}
TABLES = {
    "paper": {},
    "gpt2": {"norm": "layer_norm", "position": "learned", "qk_norm": "none", "mlp": "gelu_tanh",
             "qkv_bias": True, "proj_bias": True, "mlp_bias": True, "tied": True, "epsilon": 1e-5},
    "llama": LLAMA,
    "llama-tied-scaled": {**LLAMA, "tied": True, "rope_scaling": "llama3", "rope_factor": 8.0, "rope_low": 1.0,
                          "rope_high": 4.0, "rope_context": 32, "rope_theta": 500000.0},
    "llama-biases": {**LLAMA, "qkv_bias": True, "proj_bias": True, "mlp_bias": True},
    "qwen2": {**LLAMA, "qkv_bias": True, "tied": True, "rope_theta": 1e6},
    "qwen3": {**LLAMA, "qk_norm": "gain", "head_size": 32, "rope_theta": 1e6, "rope_scaling": "linear",
              "rope_factor": 2.0},
}


def write(folder, tokenizer, table):
    content = json.loads(tokenizer.read_text())
    last = max(*content["model"]["vocab"].values(), *(token["id"] for token in content["added_tokens"]))
    # 3 rows more than there are tokens, as padded vocabularies have them
    config = {**SIZES, "vocab_size": last + 1 + 3, **table}
    weights = reference.random_weights(config, seed=len(folder.name))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    files.write_safetensors(folder / "model.safetensors", weights)
    shutil.copy(tokenizer, folder / "tokenizer.json")
    print(folder.name)


def main():
    out, tokenizer = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name, table in TABLES.items():
        write(out / name, tokenizer, table)
    for name, other in zip(sys.argv[3::2], sys.argv[4::2]):
        write(out / name, pathlib.Path(other), LLAMA)


main()
