"""Makes tests/golden/written: small models as people write them, under our names of their weights, and their logits.

    python3 tests/golden/make_written.py

models.safetensors holds the weights as MODEL/NAME, in float32. expected.json holds what each model is, token ids, and the
logits of PyTorch in double precision: the encoder and the encoder-decoder are torch.nn's own, the others are written here.
tests/node/written_layouts.test.js writes these weights in the layout of each class and compares the logits.
"""
import copy
import json
import math
import os
import struct

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "written")
V, D, LAYERS, HEADS, CONTEXT = 23, 16, 2, 4, 12
HEAD = D // HEADS
IDS = [3, 1, 4, 1, 5, 9, 2, 6]
SOURCE = [7, 3, 8, 11, 2]

GPT = dict(norm="layernorm", position="learned", d_ff=4 * D, kv=HEADS, bias_norm=True)
LLAMA = dict(norm="rmsnorm", position="rope", d_ff=24, kv=2, ffn="swiglu", theta=10000.0)
MODELS = {
    "gpt_erf_tied": dict(GPT, ffn="gelu_erf", bias_qkv=True, bias_attn_out=True, bias_ffn=True, tied=True),
    "gpt_tanh_tied": dict(GPT, ffn="gelu_tanh", bias_qkv=True, bias_attn_out=True, bias_ffn=True, tied=True),
    "gpt_tanh": dict(GPT, ffn="gelu_tanh", bias_qkv=True, bias_attn_out=True, bias_ffn=True, bias_head=True),
    "gpt_tanh_plain": dict(GPT, ffn="gelu_tanh", bias_attn_out=True, bias_ffn=True),
    "gpt_relu": dict(GPT, ffn="relu", bias_attn_out=True, bias_ffn=True, bias_head=True),
    "llama_adjacent": dict(LLAMA, pairs="adjacent"),
    "llama_half": dict(LLAMA, pairs="half", theta=500000.0),
    "qwen3": dict(LLAMA, pairs="half", qk_norm=True, tied=True),
    "neox": dict(GPT, position="rope", pairs="half", theta=10000.0, rotary=2, parallel=True, ffn="gelu_erf", bias_qkv=True, bias_attn_out=True, bias_ffn=True),
}


# Made after all others, so that their weights stay what they were.
LATER = {
    "gpt_annotated": dict(GPT, norm="annotated", ffn="gelu_erf", bias_qkv=True, bias_attn_out=True, bias_ffn=True, tied=True),
    "nanochat": dict(norm="plain", position="rope", pairs="half", theta=10000.0, backwards=True, d_ff=4 * D, kv=2, ffn="relu2", norm_embed=True, qk_norm="after", softcap=15.0),
}


def shapes(m):
    """Our names of a model's weights, and their shapes."""
    kv = m["kv"] * HEAD
    out = {"embed.weight": (V, D)}
    if m["position"] == "learned":
        out["position.weight"] = (CONTEXT, D)
    for i in range(LAYERS):
        b = f"blocks.{i}."
        for name, rows, cols, bias in (
            ("attn.q", D, D, "bias_qkv"),
            ("attn.k", kv, D, "bias_qkv"),
            ("attn.v", kv, D, "bias_qkv"),
            ("attn.o", D, D, "bias_attn_out"),
            *([("ffn.gate", m["d_ff"], D, "bias_ffn")] if m["ffn"] == "swiglu" else []),
            ("ffn.up", m["d_ff"], D, "bias_ffn"),
            ("ffn.down", D, m["d_ff"], "bias_ffn"),
        ):
            out[f"{b}{name}.weight"] = (rows, cols)
            if m.get(bias):
                out[f"{b}{name}.bias"] = (rows,)
        for name in ("norm1", "norm2") if m["norm"] != "plain" else ():
            out[f"{b}{name}.weight"] = (D,)
            if m.get("bias_norm"):
                out[f"{b}{name}.bias"] = (D,)
        if m.get("qk_norm") is True:
            out[f"{b}attn.q_norm.weight"] = out[f"{b}attn.k_norm.weight"] = (HEAD,)
    if m["norm"] != "plain":
        out["final_norm.weight"] = (D,)
    if m.get("bias_norm"):
        out["final_norm.bias"] = (D,)
    if not m.get("tied"):
        out["head.weight"] = (V, D)
    if m.get("bias_head"):
        out["head.bias"] = (V,)
    return out


def random(shape, name, g):
    scale = 0.3 if len(shape) > 1 else 0.2
    return torch.randn(shape, generator=g) * scale + (1 if "norm" in name and name.endswith("weight") else 0)


def rotated(x, m):
    n, dim = x.shape[-2], m.get("rotary", HEAD)
    angle = torch.outer(torch.arange(n, dtype=x.dtype), m["theta"] ** (-torch.arange(0, dim, 2, dtype=x.dtype) / dim))
    cos, sin, part, rest = angle.cos(), angle.sin(), x[..., :dim], x[..., dim:]
    if m.get("backwards"):
        sin = -sin
    if m["pairs"] == "half":
        a, b = part[..., : dim // 2], part[..., dim // 2 :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)
    a, b = part[..., 0::2], part[..., 1::2]
    return torch.cat([torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2), rest], -1)


def logits(m, w):
    w = {name: t.double() for name, t in w.items()}
    linear = lambda x, name: F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))

    def norm(x, name, eps=1e-5):
        if m["norm"] == "plain":  # as torch.nn.functional.rms_norm without eps in float32
            return F.rms_norm(x, (x.shape[-1],), eps=torch.finfo(torch.float32).eps)
        if m["norm"] == "annotated":
            centred = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
            return w[f"{name}.weight"] * centred + w[f"{name}.bias"]
        if m["norm"] == "layernorm":
            return F.layer_norm(x, (D,), w[f"{name}.weight"], w.get(f"{name}.bias"), eps)
        return w[f"{name}.weight"] * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)

    def attend(x, b):
        q, k, v = (linear(x, f"{b}attn.{p}").view(len(x), -1, HEAD).transpose(0, 1) for p in "qkv")
        if m.get("qk_norm") is True:
            q, k = norm(q, f"{b}attn.q_norm"), norm(k, f"{b}attn.k_norm")
        if m["position"] == "rope":
            q, k = rotated(q, m), rotated(k, m)
        if m.get("qk_norm") == "after":
            q, k = norm(q, ""), norm(k, "")
        k, v = (t.repeat_interleave(HEADS // m["kv"], 0) for t in (k, v))
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(HEAD)
        scores = scores.masked_fill(torch.ones(len(x), len(x), dtype=torch.bool).triu(1), float("-inf"))
        return linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), D), f"{b}attn.o")

    def ffn(x, b):
        up = linear(x, f"{b}ffn.up")
        acts = dict(relu=F.relu, relu2=lambda t: F.relu(t).square(), gelu_erf=F.gelu, gelu_tanh=lambda t: F.gelu(t, approximate="tanh"))
        return linear(F.silu(linear(x, f"{b}ffn.gate")) * up if m["ffn"] == "swiglu" else acts[m["ffn"]](up), f"{b}ffn.down")

    x = w["embed.weight"][IDS]
    if m.get("norm_embed"):
        x = norm(x, "")
    if m["position"] == "learned":
        x = x + w["position.weight"][: len(IDS)]
    for i in range(LAYERS):
        b = f"blocks.{i}."
        if m.get("parallel"):
            x = x + attend(norm(x, f"{b}norm1"), b) + ffn(norm(x, f"{b}norm2"), b)
        else:
            x = x + attend(norm(x, f"{b}norm1"), b)
            x = x + ffn(norm(x, f"{b}norm2"), b)
    x = norm(x, "final_norm")
    out = F.linear(x, w["embed.weight"] if m.get("tied") else w["head.weight"], w.get("head.bias"))
    return m["softcap"] * torch.tanh(out / m["softcap"]) if m.get("softcap") else out


def table(n, d):
    """The table of the tutorials: sines and cosines in turn."""
    angle = torch.outer(torch.arange(n).double(), 10000.0 ** (-torch.arange(0, d, 2).double() / d))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)


class LanguageModel(nn.Module):
    """PyTorch's tutorial: nn.TransformerEncoder with a causal mask, embeddings times sqrt(d_model) plus a table."""

    def __init__(self, norm_first):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        layer = nn.TransformerEncoderLayer(D, HEADS, 3 * D, 0.0, "gelu" if norm_first else "relu", norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(D) if norm_first else None)
        self.linear = nn.Linear(D, V)

    def forward(self, ids):
        x = (self.embedding(ids) * math.sqrt(D) + table(len(ids), D)).unsqueeze(1)
        mask = torch.full((len(ids), len(ids)), float("-inf"), dtype=x.dtype).triu(1)
        return self.linear(self.encoder(x, mask)).squeeze(1)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.tgt = nn.Embedding(V, D), nn.Embedding(V, D)
        self.transformer = nn.Transformer(D, HEADS, LAYERS, LAYERS, 3 * D, 0.0)
        self.generator = nn.Linear(D, V)

    def forward(self, source, ids):
        x, y = (e(t) * math.sqrt(D) + table(len(t), D) for e, t in ((self.src, source), (self.tgt, ids)))
        mask = self.transformer.generate_square_subsequent_mask(len(ids)).double()
        return self.generator(self.transformer(x.unsqueeze(1), y.unsqueeze(1), tgt_mask=mask)).squeeze(1)


def clones(module, n):
    return nn.ModuleList(copy.deepcopy(module) for _ in range(n))


class AnnotatedNorm(nn.Module):
    """The Annotated Transformer's: the standard deviation is that of the sample, and eps is added to it."""

    def __init__(self):
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b_2


class AnnotatedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.linears = clones(nn.Linear(D, D), 4)

    def forward(self, x, memory, mask=None):
        q, k, v = (l(t).view(-1, HEADS, HEAD).transpose(0, 1) for l, t in zip(self.linears, (x, memory, memory)))
        scores = q @ k.transpose(-2, -1) / math.sqrt(HEAD)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.linears[3]((scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, D))


class AnnotatedLayer(nn.Module):
    """A layer of the encoder or of the decoder: a norm before each sublayer, within `sublayer`."""

    def __init__(self, crosses):
        super().__init__()
        self.self_attn = AnnotatedAttention()
        if crosses:
            self.src_attn = AnnotatedAttention()
        self.feed_forward = nn.Module()
        self.feed_forward.w_1, self.feed_forward.w_2 = nn.Linear(D, 3 * D), nn.Linear(3 * D, D)
        residual = nn.Module()
        residual.norm = AnnotatedNorm()
        self.sublayer = clones(residual, 3 if crosses else 2)

    def forward(self, x, memory=None, mask=None):
        h = self.sublayer[0].norm(x)
        x = x + self.self_attn(h, h, mask)
        if memory is not None:
            x = x + self.src_attn(self.sublayer[1].norm(x), memory)
        ffn = self.feed_forward
        return x + ffn.w_2(ffn.w_1(self.sublayer[-1].norm(x)).relu())


class Annotated(nn.Module):
    """The encoder-decoder of The Annotated Transformer."""

    def __init__(self):
        super().__init__()
        for name in ("encoder", "decoder"):
            part = nn.Module()
            part.layers, part.norm = clones(AnnotatedLayer(name == "decoder"), LAYERS), AnnotatedNorm()
            setattr(self, name, part)
        for name in ("src_embed", "tgt_embed"):
            lookup, positions = nn.Module(), nn.Module()
            lookup.lut = nn.Embedding(V, D)
            positions.register_buffer("pe", table(CONTEXT, D).float().unsqueeze(0))
            setattr(self, name, nn.Sequential(lookup, positions))
        self.generator = nn.Module()
        self.generator.proj = nn.Linear(D, V)

    def forward(self, source, ids):
        embed = lambda part, t: part[0].lut(t) * math.sqrt(D) + table(len(t), D)
        x, y = embed(self.src_embed, source), embed(self.tgt_embed, ids)
        for layer in self.encoder.layers:
            x = layer(x)
        x, mask = self.encoder.norm(x), torch.ones(len(ids), len(ids)).tril()
        for layer in self.decoder.layers:
            y = layer(y, x, mask)
        return self.generator.proj(self.decoder.norm(y))


def filled(model, g):
    for name, p in sorted(model.named_parameters()):
        p.data = random(p.shape, name.replace("a_2", "weight"), g)
    return model


def main():
    weights, expected = {}, {}
    g = torch.Generator().manual_seed(52)

    def write(name, m):
        own = {key: random(shape, key, g) for key, shape in shapes(m).items()}
        weights.update({f"{name}/{key}": t for key, t in own.items()})
        expected[name] = dict(model=m, logits=logits(m, own).tolist())

    for name, m in MODELS.items():
        write(name, m)
    ids, source = torch.tensor(IDS), torch.tensor(SOURCE)
    for name, model, args in (
        ("encoder_post", LanguageModel(False), (ids,)),
        ("encoder_pre", LanguageModel(True), (ids,)),
        ("translator", Translator(), (source, ids)),
    ):
        filled(model, g)
        weights.update({f"{name}/{key}": t.clone() for key, t in model.state_dict().items()})
        expected[name] = dict(logits=model.double().eval()(*args).tolist())
    for name, m in LATER.items():
        write(name, m)
    model = filled(Annotated(), g)
    weights.update({f"annotated/{key}": t.clone() for key, t in model.state_dict().items()})
    expected["annotated"] = dict(logits=model.double()(source, ids).tolist())
    for each in expected.values():
        each["logits"] = [round(x, 7) for row in each["logits"] for x in row]
    os.makedirs(HERE, exist_ok=True)
    header, at, data = {}, 0, []
    for name, t in weights.items():
        values = struct.pack(f"<{t.numel()}f", *t.flatten().tolist())
        header[name] = dict(dtype="F32", shape=list(t.shape), data_offsets=[at, at + len(values)])
        at += len(values)
        data.append(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(HERE, "models.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    made = dict(pytorch=torch.__version__, ids=IDS, source=SOURCE, context=CONTEXT, heads=HEADS, models=expected)
    with open(os.path.join(HERE, "expected.json"), "w") as f:
        json.dump(made, f)
        f.write("\n")


if __name__ == "__main__":
    main()
