"""Writes cases/qwen2_moe: a tiny Qwen2-MoE checkpoint with random weights, and its logits in double precision.

    python3 tests/golden/make_qwen2_moe.py                 # Python 3.11, standard library only; the seed is below
    python3 tests/golden/make_qwen2_moe.py --check FOLDER  # compares with the arrays of a Qwen3-MoE folder

Written from the formulas, for this purpose, without code of the engine or of Hugging Face:

    attention      q, k, v = x W + b; rotation of (i, i + d/2); grouped queries; causal softmax(q k / sqrt(d)) v
    experts        p = softmax(router x); the k largest; sum of p_e down_e(silu(gate_e x) * up_e x), not divided by their sum
    shared expert  sigmoid(gate x) * down(silu(gate_s x) * up_s x), added for every token
                   (Yang et al. 2024, "Qwen2 Technical Report"; modules mlp.shared_expert and mlp.shared_expert_gate)

The same functions, with the norms of q and k of Qwen3 and without a shared expert, gave the arrays of cases/qwen3_moe,
which Hugging Face's own classes computed, within 3e-7 (--check).
"""
import json
import math
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = {
    "architectures": ["Qwen2MoeForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "decoder_sparse_step": 1,
    "dtype": "float32",
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 32,
    "initializer_range": 0.02,
    "intermediate_size": 40,
    "max_position_embeddings": 96,
    "max_window_layers": 3,
    "mlp_only_layers": [1],
    "model_type": "qwen2_moe",
    "moe_intermediate_size": 12,
    "norm_topk_prob": False,
    "num_attention_heads": 4,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "output_router_logits": False,
    "qkv_bias": True,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "router_aux_loss_coef": 0.001,
    "shared_expert_intermediate_size": 20,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 104,
}


def times(matrix, x, bias=None):
    return [sum(map(float.__mul__, row, x)) + (bias[i] if bias else 0.0) for i, row in enumerate(matrix)]


def rms(x, gain, eps):
    scale = math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v / scale * g for v, g in zip(x, gain)]


def softmax(x):
    most = max(x)
    e = [math.exp(v - most) for v in x]
    return [v / sum(e) for v in e]


def silu(x):
    return x / (1 + math.exp(-x))


def rotated(x, position, theta):
    half = len(x) // 2
    out = x[:]
    for i in range(half):
        angle = position * theta ** (-2 * i / len(x))
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


def feed_forward(w, name, x):
    gate, up = times(w[name + ".gate_proj.weight"], x), times(w[name + ".up_proj.weight"], x)
    return times(w[name + ".down_proj.weight"], [silu(g) * u for g, u in zip(gate, up)])


def experts(c, w, name, x, routed):
    logits = times(w[name + ".gate.weight"], x)
    routed.append(logits)
    p = softmax(logits)
    chosen = sorted(range(len(p)), key=lambda e: -p[e])[: c["num_experts_per_tok"]]
    total = sum(p[e] for e in chosen) if c["norm_topk_prob"] else 1.0
    out = [0.0] * len(x)
    for e in chosen:
        out = [a + p[e] / total * b for a, b in zip(out, feed_forward(w, f"{name}.experts.{e}", x))]
    if c.get("shared_expert_intermediate_size"):
        (gate,) = times(w[name + ".shared_expert_gate.weight"], x)
        share = 1 / (1 + math.exp(-gate))
        out = [a + share * b for a, b in zip(out, feed_forward(w, name + ".shared_expert", x))]
    return out


def attention(c, w, name, rows):
    heads, groups, theta, eps = c["num_attention_heads"], c["num_key_value_heads"], c["rope_theta"], c["rms_norm_eps"]
    d = c.get("head_dim") or c["hidden_size"] // heads
    made = {}
    for part, count in (("q", heads), ("k", groups), ("v", groups)):
        made[part] = []
        for position, x in enumerate(rows):
            y = times(w[f"{name}.{part}_proj.weight"], x, w.get(f"{name}.{part}_proj.bias"))
            split = [y[h * d : (h + 1) * d] for h in range(count)]
            gain = w.get(f"{name}.{part}_norm.weight")
            if gain:
                split = [rms(h, gain, eps) for h in split]
            made[part].append(split if part == "v" else [rotated(h, position, theta) for h in split])
    out = []
    for i in range(len(rows)):
        z = []
        for h in range(heads):
            g = h // (heads // groups)
            scores = [sum(map(float.__mul__, made["q"][i][h], made["k"][j][g])) / math.sqrt(d) for j in range(i + 1)]
            pattern = softmax(scores)
            z += [sum(p * made["v"][j][g][e] for j, p in enumerate(pattern)) for e in range(d)]
        out.append(times(w[name + ".o_proj.weight"], z))
    return out


def forward(c, w, ids):
    """Logits, the stream before the first and after each block, the router's logits [layer with experts][token]."""
    eps = c["rms_norm_eps"]
    x = [w["model.embed_tokens.weight"][i][:] for i in ids]
    hidden, routed = [x], []
    for l in range(c["num_hidden_layers"]):
        b = f"model.layers.{l}"
        normed = [rms(r, w[b + ".input_layernorm.weight"], eps) for r in x]
        x = [[p + q for p, q in zip(r, a)] for r, a in zip(x, attention(c, w, b + ".self_attn", normed))]
        sparse = l not in c["mlp_only_layers"] and (l + 1) % c["decoder_sparse_step"] == 0
        of_layer = []
        out = []
        for r in x:
            n = rms(r, w[b + ".post_attention_layernorm.weight"], eps)
            y = experts(c, w, b + ".mlp", n, of_layer) if sparse else feed_forward(w, b + ".mlp", n)
            out.append([p + q for p, q in zip(r, y)])
        x = out
        hidden.append(x)
        if sparse:
            routed.append(of_layer)
    logits = [times(w["lm_head.weight"], rms(r, w["model.norm.weight"], eps)) for r in x]
    return logits, hidden, routed


def single(x):
    """x rounded to float32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def random_weights(c, seed):
    rng = random.Random(seed)
    d, v, inner = c["hidden_size"], c["vocab_size"], c["intermediate_size"]
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    size = d // heads
    shapes = {"model.embed_tokens.weight": (v, d), "model.norm.weight": (d,), "lm_head.weight": (v, d)}
    for l in range(c["num_hidden_layers"]):
        b = f"model.layers.{l}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{b}{name}.weight"] = (d,)
        for part, rows in (("q", heads * size), ("k", groups * size), ("v", groups * size)):
            shapes[f"{b}self_attn.{part}_proj.weight"] = (rows, d)
            shapes[f"{b}self_attn.{part}_proj.bias"] = (rows,)
        shapes[b + "self_attn.o_proj.weight"] = (d, heads * size)
        layers = {"": inner}
        if l not in c["mlp_only_layers"]:
            layers = {f"experts.{e}.": c["moe_intermediate_size"] for e in range(c["num_experts"])}
            layers["shared_expert."] = c["shared_expert_intermediate_size"]
            shapes[b + "mlp.gate.weight"] = (c["num_experts"], d)
            shapes[b + "mlp.shared_expert_gate.weight"] = (1, d)
        for name, wide in layers.items():
            shapes[f"{b}mlp.{name}gate_proj.weight"] = (wide, d)
            shapes[f"{b}mlp.{name}up_proj.weight"] = (wide, d)
            shapes[f"{b}mlp.{name}down_proj.weight"] = (d, wide)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            mean = 0.0 if name.endswith("bias") else 1.0
            weights[name] = [single(rng.gauss(mean, 0.2)) for _ in range(shape[0])]
        else:
            spread = 0.7 if "embed" in name else 1.5 / math.sqrt(shape[1])
            weights[name] = [[single(rng.gauss(0.0, spread)) for _ in range(shape[1])] for _ in range(shape[0])]
    return weights, shapes


def flat(x):
    return [v for part in x for v in flat(part)] if isinstance(x[0], list) else x


def read_weights(path):
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(n))
        data = f.read()
    weights = {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        start, end = t["data_offsets"]
        x = list(struct.unpack(f"<{(end - start) // 4}f", data[start:end]))
        cols = t["shape"][-1]
        weights[name] = x if len(t["shape"]) == 1 else [x[i : i + cols] for i in range(0, len(x), cols)]
    return weights


def write_weights(path, weights, shapes):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in shapes:
            values = flat(weights[name])
            f.write(struct.pack(f"<{len(values)}f", *values))


def check(folder):
    with open(os.path.join(folder, "config.json")) as f:
        c = json.load(f)
    with open(os.path.join(folder, "case.json")) as f:
        ids = json.load(f)["input_ids"]
    made = forward(c, read_weights(os.path.join(folder, "model.safetensors")), ids)
    expected = read_weights(os.path.join(folder, "expected.safetensors"))
    for name, x in zip(("logits", "hidden", "router_logits"), made):
        print(name, max(abs(a - b) for a, b in zip(flat(x), flat(expected[name]), strict=True)))


def main():
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2])
    folder = os.path.join(HERE, "cases/qwen2_moe")
    os.makedirs(folder, exist_ok=True)
    weights, shapes = random_weights(CONFIG, 20)
    rng = random.Random(21)
    ids = [rng.randrange(3, CONFIG["vocab_size"]) for _ in range(24)]
    logits, hidden, routed = forward(CONFIG, weights, ids)
    sequence, gap = ids[:8], math.inf
    for _ in range(32):
        last = forward(CONFIG, weights, sequence)[0][-1]
        order = sorted(range(len(last)), key=lambda i: -last[i])
        gap = min(gap, last[order[0]] - last[order[1]])
        sequence.append(order[0])
    case = {
        "input_ids": ids,
        "arrays": {
            "hidden": [len(hidden), len(ids), CONFIG["hidden_size"]],
            "router_logits": [len(routed), len(ids), CONFIG["num_experts"]],
            "logits": [len(ids), CONFIG["vocab_size"]],
        },
        "param_counts": {"total": sum(math.prod(s) for s in shapes.values())},
        "greedy": {"prompt": ids[:8], "next": sequence[8:], "min_top1_top2_gap": gap},
        "note": "as qwen3_moe, weights of the experts not divided by their sum, biases of q, k and v, a shared expert",
    }
    write_weights(os.path.join(folder, "model.safetensors"), weights, shapes)
    expected = {"hidden": hidden, "router_logits": routed, "logits": logits}
    write_weights(os.path.join(folder, "expected.safetensors"), expected, case["arrays"])
    for name, value, indent in (("config.json", CONFIG, 2), ("case.json", case, None)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(json.dumps(value, indent=indent) + "\n")
    print("smallest gap of the greedy steps", gap)


main()
