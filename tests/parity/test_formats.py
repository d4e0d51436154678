"""Folders of Hugging Face, llm.c's checkpoints and our own: every family in, out, and back.

    test_formats.py MOUSSE MODEL_DUMP

A folder is written here from the published layouts, independently of the program; the numbers must
arrive in our tensors as the formulas (reference_table.py) want them, and leave again byte for byte.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

import reference_gpt as files
import reference_table as reference

MOUSSE, DUMP = sys.argv[1:3]
V, T = 97, 24

GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": V, "n_embd": 32,
        "n_layer": 2, "n_head": 4, "n_positions": T, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "n_inner": None}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": V, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 44, "max_position_embeddings": T, "hidden_act": "silu",
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
ROPE3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 8}
CASES = {
    "gpt2": GPT2,
    "llama": LLAMA,
    "llama-3": {**LLAMA, "rope_scaling": ROPE3, "tie_word_embeddings": True, "rope_theta": 500000.0},
    "llama-biases": {**LLAMA, "attention_bias": True, "mlp_bias": True},
    "mistral": {**LLAMA, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
                "sliding_window": None},
    "qwen2": {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "rms_norm_eps": 1e-6,
              "use_sliding_window": False, "tie_word_embeddings": True},
    "qwen3": {**LLAMA, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 10,
              "attention_bias": False},
}


def our_table(name, c):
    if name == "gpt2":
        return {"vocab_size": V, "n_layer": 2, "n_head": 4, "n_embd": 32, "sequence_len": T,
                "norm": "layer_norm", "position": "learned", "qk_norm": "none", "mlp": "gelu_tanh",
                "qkv_bias": True, "proj_bias": True, "mlp_bias": True, "tied": True, "epsilon": 1e-5}
    table = {"vocab_size": V, "n_layer": 2, "n_head": 4, "n_kv_head": 2, "n_embd": 32, "mlp_width": 44,
             "sequence_len": T, "norm": "rms_gain", "position": "rope_llama", "mlp": "swiglu",
             "qk_norm": "gain" if name == "qwen3" else "none", "epsilon": c["rms_norm_eps"],
             "rope_theta": c["rope_theta"], "tied": c["tie_word_embeddings"],
             "qkv_bias": name == "qwen2" or c.get("attention_bias", False),
             "proj_bias": c.get("attention_bias", False), "mlp_bias": c.get("mlp_bias", False)}
    if "head_dim" in c:
        table["head_size"] = c["head_dim"]
    if "rope_scaling" in c:
        table.update(rope_scaling="llama3", rope_factor=8.0, rope_low=1.0, rope_high=4.0, rope_context=8)
    return table


def their_tensors(name, ours):
    """Our tensors under their names and in their layouts."""
    theirs = {}
    if name == "gpt2":
        for key, tensor in ours.items():
            part = re.fullmatch(r"(transformer\.h\.\d+\.attn\.)c_([qkv])\.(weight|bias)", key)
            if part and part[2] == "q":
                whole = torch.cat([ours[f"{part[1]}c_{n}.{part[3]}"] for n in "qkv"])
                theirs[f"{part[1]}c_attn.{part[3]}"] = whole.t() if part[3] == "weight" else whole
            elif not part:
                conv = re.search(r"\.c_(proj|fc)\.weight$", key)
                theirs[key] = tensor.t() if conv else tensor
        return theirs
    words = {"ln_1": "input_layernorm", "ln_2": "post_attention_layernorm", "attn.c_q": "self_attn.q_proj",
             "attn.c_k": "self_attn.k_proj", "attn.c_v": "self_attn.v_proj", "attn.c_proj": "self_attn.o_proj",
             "attn.q_norm": "self_attn.q_norm", "attn.k_norm": "self_attn.k_norm",
             "mlp.c_gate": "mlp.gate_proj", "mlp.c_fc": "mlp.up_proj", "mlp.c_proj": "mlp.down_proj"}
    for key, tensor in ours.items():
        layer = re.fullmatch(r"transformer\.h\.(\d+)\.(.*)\.(weight|bias)", key)
        if layer:
            key = f"model.layers.{layer[1]}.{words[layer[2]]}.{layer[3]}"
        key = key.replace("transformer.wte", "model.embed_tokens").replace("transformer.ln_f", "model.norm")
        theirs[key] = tensor
    return theirs


def write_folder(folder, config, tensors, shards):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    names = sorted(tensors)
    if shards == 1:
        files.write_safetensors(folder / "model.safetensors", {n: tensors[n].contiguous() for n in names})
        return
    index = {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        mine = names[i::shards]
        files.write_safetensors(folder / file, {n: tensors[n].contiguous() for n in mine})
        index.update(dict.fromkeys(mine, file))
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 0}, "weight_map": index}))


def export(source, target, *options):
    subprocess.run([MOUSSE, "checkpoint", "export", source, "--out", target, "--quiet", *options], check=True,
                   stdout=subprocess.DEVNULL)


def raw_tensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: (e["dtype"], e["shape"], data[8 + length + e["data_offsets"][0] : 8 + length + e["data_offsets"][1]])
            for name, e in header.items()}


def all_tensors(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors.update(raw_tensors(path))
    return tensors


def as_brain(tensors):
    """Rounded to numbers that bfloat16 has, so that the way there and back is exact."""
    return {name: t.bfloat16().float() for name, t in tensors.items()}


def check_logits(folder, table, weights):
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(V, (2, 1, T), generator=generator)
    (folder / "tokens.bin").write_bytes(tokens.to(torch.int32).numpy().tobytes())
    subprocess.run([DUMP, folder, "1", str(T)], check=True, stdout=subprocess.DEVNULL)
    ours = files.read_safetensors(folder / "logits.safetensors")["logits"]
    exact = reference.forward(table, {n: w.double() for n, w in weights.items()}, tokens[0])[0]
    worst = (ours - exact[T - len(ours):]).abs().max().item()
    assert worst < 1e-4, f"logits differ by {worst}"


def check_family(root, name, config):
    table = our_table(name, config)
    weights = as_brain(reference.random_weights(table, seed=11))
    theirs = their_tensors(name, weights)
    for shards in (1, 3):
        source = root / f"{name}-{shards}"
        write_folder(source, config, theirs, shards)
        export(source, root / f"{name}-{shards}-own")
        own = files.read_safetensors(root / f"{name}-{shards}-own" / "model.safetensors")
        assert own.keys() == weights.keys()
        assert all(torch.equal(own[n], weights[n]) for n in weights), name
        export(source, root / f"{name}-{shards}-hf", "--format", "hf")
        assert all_tensors(root / f"{name}-{shards}-hf") == all_tensors(source), name
    check_logits(root / f"{name}-1-own", table, weights)
    again = json.loads((root / f"{name}-1-hf" / "config.json").read_text())
    expected = {**config, "model_type": again["model_type"]}
    if name == "mistral":  # which is a Llama but for a window that it does not have
        expected["architectures"] = ["LlamaForCausalLM"]
    for key, value in expected.items():
        if value is not None and key != "sliding_window":
            assert again.get(key) == value, f"{name}: {key} is {again.get(key)}, expected {value}"
    # bfloat16 and half precision: what PyTorch makes of the same numbers
    for kind, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
        export(root / f"{name}-1", root / f"{name}-{kind}", "--format", "hf", "--type", kind)
        for key, (_, _, data) in raw_tensors(root / f"{name}-{kind}" / "model.safetensors").items():
            bits = theirs[key].contiguous().to(dtype).view(torch.int16).numpy()
            assert bits.tobytes() == data, f"{name}: {key} as {kind}"
        export(root / f"{name}-{kind}", root / f"{name}-{kind}-own")
    print(f"{name}: in, out and back, one file and three, three types, logits")


def check_llmc(root):
    """llm.c's order, written here a second time."""
    export(root / "gpt2-1", root / "gpt2.bin", "--format", "llmc")
    data = numpy.fromfile(root / "gpt2.bin", dtype="<i4", count=256)
    assert list(data[:8]) == [20240326, 3, T, V, 2, 4, 32, 128] and not data[8:].any()
    numbers = torch.from_numpy(numpy.fromfile(root / "gpt2.bin", dtype="<f4", offset=1024))
    own = files.read_safetensors(root / "gpt2-1-own" / "model.safetensors")
    layer = "transformer.h.{}."
    order = ["ln_1.weight", "ln_1.bias", "attn.c_{qkv}.weight", "attn.c_{qkv}.bias", "attn.c_proj.weight",
             "attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
             "mlp.c_proj.weight", "mlp.c_proj.bias"]
    expected = [own["transformer.wte.weight"], torch.zeros(128 - V, 32), own["transformer.wpe.weight"]]
    for name in order:
        for i in range(2):
            names = [name.replace("{qkv}", n) for n in "qkv"] if "{qkv}" in name else [name]
            expected += [own[layer.format(i) + n] for n in names]
    expected += [own["transformer.ln_f.weight"], own["transformer.ln_f.bias"]]
    assert torch.equal(numbers, torch.cat([t.flatten() for t in expected]))
    for kind in ("f32", "bf16"):
        export(root / "gpt2-1", root / f"gpt2-{kind}.bin", "--format", "llmc", "--type", kind)
        export(root / f"gpt2-{kind}.bin", root / f"gpt2-from-{kind}", "--format", "hf")
        assert all_tensors(root / f"gpt2-from-{kind}") == all_tensors(root / "gpt2-1")
    print("llm.c: order, header, padding; out and back as float32 and bfloat16")


def check_fine_tuning(root):
    """Others' weights trained for two steps, some of them frozen, and handed back."""
    config = {**CASES["qwen3"], "vocab_size": 256}
    table = {**our_table("qwen3", config), "vocab_size": 256}
    write_folder(root / "start", config, their_tensors("qwen3", reference.random_weights(table, seed=2)), 3)
    (root / "text.txt").write_bytes(pathlib.Path(__file__).read_bytes())
    subprocess.run([MOUSSE, "tokenize", root / "text.txt", "--tokenizer", "bytes", "--val-fraction",
                    "0.2", "--out", root / "data", "--quiet"],
                   check=True)
    subprocess.run([MOUSSE, "train", "--init", root / "start", "--data-dir", root / "data", "--out", root / "run",
                    "--num-iterations", "2", "--batch-size", "2", "--freeze", r"wte|h\.0\.", "--val-tokens", "48",
                    "--warmup-ratio", "0", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    # a step of length 0: nothing moves on the way through training and checkpoint, from one file and from three
    for shards in (1, 3):
        same = root / f"start-{shards}"
        write_folder(same, config, their_tensors("qwen3", reference.random_weights(table, seed=2)), shards)
        subprocess.run([MOUSSE, "train", "--init", same, "--data-dir", root / "data", "--out", root / f"still-{shards}",
                        "--num-iterations", "1", "--batch-size", "2", "--lr", "0", "--val-tokens", "48", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        export(root / f"still-{shards}", root / f"same-{shards}", "--format", "hf")
        assert all_tensors(root / f"same-{shards}") == all_tensors(same)
    export(root / "run", root / "tuned", "--format", "hf")
    before, after = all_tensors(root / "start"), all_tensors(root / "tuned")
    assert before.keys() == after.keys()
    for name in before:
        frozen = "embed_tokens" in name or ".layers.0." in name
        assert (before[name] == after[name]) == frozen, name
    print("fine-tuning: frozen tensors and steps of length 0 come back byte for byte, all others have moved")


def check_gguf_is_not_read(root):
    (root / "model.gguf").write_bytes(b"GGUF" + bytes(100))
    refused = subprocess.run([MOUSSE, "checkpoint", "export", root / "model.gguf", "--out", root / "no"], text=True,
                             stderr=subprocess.PIPE)
    assert refused.returncode != 0 and "writes GGUF files but does not read them" in refused.stderr, refused.stderr


def check_own(root):
    """The paper's model and another table: the folder's own PyTorch file runs them."""
    tables = {"paper": {}, "mixed": {"norm": "layer_norm", "mlp": "gelu", "qk_norm": "gain", "n_kv_head": 2,
                                     "position": "learned", "tied": True, "mlp_bias": True}}
    for name, switches in tables.items():
        table = {"vocab_size": V, "n_layer": 2, "n_head": 4, "n_embd": 32, "sequence_len": T, **switches}
        weights = reference.random_weights(table, seed=5)
        write_folder(root / name, table, weights, 1)
        export(root / name, root / f"{name}-hf", "--format", "hf")
        assert all_tensors(root / f"{name}-hf") == all_tensors(root / name)
        program = ("import sys, torch; from mousse_model import load; torch.set_printoptions(precision=9)\n"
                   "print(' '.join(f'{x:.9g}' for x in load('.')(torch.tensor([[3, 1, 4, 1, 5]]))[0].flatten().tolist()))")
        lines = subprocess.run([sys.executable, "-c", program], cwd=root / f"{name}-hf", check=True, text=True,
                               stdout=subprocess.PIPE).stdout
        theirs = torch.tensor([float(x) for x in lines.split()]).view(5, V)
        exact = reference.forward(table, {n: w.double() for n, w in weights.items()},
                                  torch.tensor([[3, 1, 4, 1, 5]]))[0]
        assert (theirs - exact).abs().max().item() < 1e-4
        export(root / f"{name}-hf", root / f"{name}-back")  # and we read the folder ourselves
        assert all_tensors(root / f"{name}-back") == all_tensors(root / name)
    print("own architecture: the folder's PyTorch file agrees, and the folder is read back")


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, config in CASES.items():
            check_family(root, name, config)
        check_llmc(root)
        check_own(root)
        check_fine_tuning(root)
        check_gguf_is_not_read(root)


main()
