"""Makes tests/golden/pytorch: checkpoints as people save them with torch.save, and the logits of their models.

    python3 tests/golden/make_pytorch.py [NAME...]

NAME: makes this file alone; the others stay as the version of torch in expected.json wrote them.
The models are written here after the public sources of nanoGPT, minGPT and tutorial 1, in PyTorch, and run in double
precision. expected.json has the logits of `ids` for each file. The files in refused/ are no plain state dicts.
"""
import argparse
import dataclasses
import datetime
import json
import math
import os
import pathlib
import sys
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch")
V, D, LAYERS, HEADS, CONTEXT = 37, 16, 2, 2, 12
IDS = [3, 1, 4, 1, 5, 9, 2, 6]


class LayerNorm(nn.Module):
    """nanoGPT's, with an optional bias."""

    def __init__(self, d, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, bias, mask):
        super().__init__()
        self.c_attn = nn.Linear(D, 3 * D, bias=bias)
        self.c_proj = nn.Linear(D, D, bias=bias)
        if mask:
            self.register_buffer("bias", torch.tril(torch.ones(CONTEXT, CONTEXT)).view(1, 1, CONTEXT, CONTEXT))

    def forward(self, x):
        return self.c_proj(attend(*self.c_attn(x).split(D, dim=-1)))


def attend(q, k, v):
    n = q.shape[0]
    q, k, v = (t.view(n, HEADS, D // HEADS).transpose(0, 1) for t in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(D // HEADS)
    mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    y = torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v
    return y.transpose(0, 1).reshape(n, D)


class MLP(nn.Module):
    def __init__(self, bias, gelu):
        super().__init__()
        self.c_fc = nn.Linear(D, 4 * D, bias=bias)
        self.c_proj = nn.Linear(4 * D, D, bias=bias)
        self.gelu = gelu

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate=self.gelu))


class Block(nn.Module):
    def __init__(self, bias, mask, gelu):
        super().__init__()
        self.ln_1 = LayerNorm(D, bias)
        self.attn = Attention(bias, mask)
        self.ln_2 = LayerNorm(D, bias)
        self.mlp = MLP(bias, gelu)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """nanoGPT (tied, exact GELU) and minGPT (not tied, tanh GELU, masks among the buffers)."""

    def __init__(self, bias=True, tied=True, mask=False, gelu="none"):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(V, D),
                wpe=nn.Embedding(CONTEXT, D),
                h=nn.ModuleList(Block(bias, mask, gelu) for _ in range(LAYERS)),
                ln_f=LayerNorm(D, bias),
            )
        )
        self.lm_head = nn.Linear(D, V, bias=False)
        if tied:
            self.transformer.wte.weight = self.lm_head.weight

    def forward(self, ids):
        t = self.transformer
        x = t.wte(ids) + t.wpe(torch.arange(len(ids)))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


class Block2020(nn.Module):
    """minGPT as it was in 2020: three layers for q, k and v, a Sequential as the feed-forward layer."""

    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(D)
        self.ln2 = nn.LayerNorm(D)
        self.attn = nn.Module()
        for name in ("key", "query", "value", "proj"):
            setattr(self.attn, name, nn.Linear(D, D))
        self.attn.register_buffer("mask", torch.tril(torch.ones(CONTEXT, CONTEXT)).view(1, 1, CONTEXT, CONTEXT))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.Dropout(0.0))

    def forward(self, x):
        a, h = self.attn, self.ln1(x)
        x = x + a.proj(attend(a.query(h), a.key(h), a.value(h)))
        return x + self.mlp(self.ln2(x))


class GPT2020(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_emb = nn.Embedding(V, D)
        self.pos_emb = nn.Parameter(torch.zeros(1, CONTEXT, D))
        self.blocks = nn.Sequential(*[Block2020() for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(D)
        self.head = nn.Linear(D, V, bias=False)

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb[0, : len(ids)]
        return self.head(self.ln_f(self.blocks(x)))


@dataclasses.dataclass
class GPTConfig:
    """build-nanogpt's."""

    block_size: int = CONTEXT
    vocab_size: int = V
    n_layer: int = LAYERS
    n_head: int = HEADS
    n_embd: int = D


class Norm(nn.Module):
    """Tutorial 1's RMSNorm, and its LayerNorm with a beta."""

    def __init__(self, rms, eps):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(D))
        self.beta = None if rms else nn.Parameter(torch.zeros(D))
        self.eps = eps

    def forward(self, x):
        if self.beta is not None:
            return F.layer_norm(x, x.shape[-1:], self.gamma, self.beta, self.eps)
        return self.gamma * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotated(x):
    n, d = x.shape[0], D // HEADS
    x = x.view(n, HEADS, d)
    angle = torch.outer(torch.arange(n, dtype=x.dtype), 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d))
    cos, sin = (torch.cat([f(angle)] * 2, -1)[:, None, :] for f in (torch.cos, torch.sin))
    turned = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)
    return (x * cos + turned * sin).reshape(n, HEADS * d)


class ClassicBlock(nn.Module):
    """Tutorial 1's TransformerBlock with pre_norm=False, norm_cls=LayerNorm, ffn_cls=GeluFFN."""

    def __init__(self):
        super().__init__()
        self.attn = nn.Module()
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            setattr(self.attn, name, nn.Linear(D, D, bias=False))
        self.ffn = nn.Module()
        self.ffn.W_1 = nn.Linear(D, 3 * D, bias=False)
        self.ffn.W_2 = nn.Linear(3 * D, D, bias=False)
        self.norm1 = Norm(False, 1e-5)
        self.norm2 = Norm(False, 1e-5)

    def forward(self, x):
        a = self.attn
        x = self.norm1(x + a.W_O(attend(rotated(a.W_Q(x)), rotated(a.W_K(x)), a.W_V(x))))
        return self.norm2(x + self.ffn.W_2(F.gelu(self.ffn.W_1(x))))


class Transformer(nn.Module):
    """Tutorial 1's literal Transformer: its final norm is an RMSNorm whatever the blocks have."""

    def __init__(self):
        super().__init__()
        self.token_emb = nn.Embedding(V, D)
        self.blocks = nn.ModuleList(ClassicBlock() for _ in range(LAYERS))
        self.final_norm = Norm(True, 1e-6)
        self.lm_head = nn.Linear(D, V, bias=False)
        self.lm_head.weight = self.token_emb.weight

    def forward(self, ids):
        x = self.token_emb(ids)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.final_norm(x))


def filled(model, seed):
    """Random weights far from zero and from each other, so that a wrong place shows; the mean of norms is not 1."""
    g = torch.Generator().manual_seed(seed)
    for name, p in sorted(model.named_parameters()):
        scale = 0.3 if p.dim() > 1 else 0.2
        p.data = (torch.randn(p.shape, generator=g) * scale + (1 if p.dim() == 1 and not name.endswith(("bias", "beta")) else 0)).contiguous()
    return model


EXPECTED, VERSIONS = {}, {}
ONLY = sys.argv[1:]


def save(name, value, model=None):
    if ONLY and name not in ONLY:
        return
    VERSIONS[name] = torch.__version__
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(value, path)
    if model is not None:
        logits = model.double()(torch.tensor(IDS)).detach()
        EXPECTED[name] = [[round(x, 7) for x in row] for row in logits.tolist()]


def nano(bias, seed):
    return filled(GPT(bias=bias), seed)


def model_args(bias):
    return dict(n_layer=LAYERS, n_head=HEADS, n_embd=D, block_size=CONTEXT, bias=bias, vocab_size=V, dropout=0.0)


def prefixed(state, prefix):
    return OrderedDict((prefix + name, t) for name, t in state.items())


def main():
    # nanoGPT's ckpt.pt, of a compiled model, with the state of its optimizer
    model = nano(False, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.tensor(IDS)).sum().backward()
    optimizer.step()
    save(
        "nanogpt/ckpt.pt",
        {
            "model": prefixed(model.state_dict(), "_orig_mod."),
            "optimizer": {"state": {0: {"step": torch.tensor(1.0), "exp_avg": torch.zeros(2)}}, "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.95), "params": [0]}]},
            "model_args": model_args(False),
            "iter_num": 2000,
            "best_val_loss": torch.tensor(1.5),
            "config": {"out_dir": "out", "batch_size": 12, "learning_rate": 6e-4, "compile": True, "init_from": None},
        },
        model,
    )
    # a state dict alone, in half precision under DataParallel's names
    model = nano(True, 2)
    state = OrderedDict((n, t.half()) for n, t in model.state_dict().items())
    state["lm_head.weight"] = state["transformer.wte.weight"]
    for p in model.parameters():
        p.data = p.data.half().float()
    save("nanogpt_half.pt", prefixed(state, "module."), model)
    # bfloat16, under Lightning's names
    model = nano(True, 3)
    state = OrderedDict((n, t.bfloat16()) for n, t in model.state_dict().items())
    state["lm_head.weight"] = state["transformer.wte.weight"]
    for p in model.parameters():
        p.data = p.data.bfloat16().float()
    save(
        "lightning.ckpt",
        {"epoch": 3, "global_step": 10, "pytorch-lightning_version": "2.1.0", "state_dict": prefixed(state, "model."), "loops": None, "hyper_parameters": {"lr": 0.1}},
        model,
    )
    # doubles; every matrix is the transpose of what is in memory, and all share one storage
    model = nano(True, 4)
    params = OrderedDict((n, t.double()) for n, t in model.state_dict().items() if n != "lm_head.weight")
    flat = torch.cat([(t.t() if t.dim() == 2 else t).reshape(-1) for t in params.values()])
    at, views = 0, OrderedDict()
    for name, t in params.items():
        view = flat[at : at + t.numel()]
        views[name] = view.view(t.shape[1], t.shape[0]).t() if t.dim() == 2 else view
        assert torch.equal(views[name], t)
        at += t.numel()
    views["lm_head.weight"] = views["transformer.wte.weight"]
    save("strided.pth", views, model)
    # Parameters instead of tensors, in a plain dict, and with pickle protocol 4
    model = nano(False, 5)
    path = os.path.join(HERE, "parameters.pt")
    if not ONLY:
        torch.save(dict(model.named_parameters()), path, pickle_protocol=4)
        EXPECTED["parameters.pt"] = [[round(x, 7) for x in row] for row in model.double()(torch.tensor(IDS)).tolist()]

    model = filled(GPT(tied=False, mask=True, gelu="tanh"), 6)
    save("mingpt.pt", model.state_dict(), model)
    model = filled(GPT2020(), 7)
    save("mingpt_2020.pt", model.state_dict(), model)
    model = filled(Transformer(), 8)
    save("tutorial1_classical.pt", model.state_dict(), model)

    # build-nanogpt's checkpoint: its configuration is an object
    model = filled(GPT(gelu="tanh"), 9)
    save("build_nanogpt.pt", {"model": model.state_dict(), "config": GPTConfig(), "step": 5, "val_loss": 3.2}, model)
    # objects of Python beside the weights, and attributes of a parameter
    model = filled(GPT(gelu="none"), 10)
    tagged = nn.Parameter(model.state_dict()["transformer.wpe.weight"].clone())
    tagged.tag = "positions"
    beside = dict(args=argparse.Namespace(**model_args(True)), path=pathlib.Path("out"), at=datetime.date(2026, 11, 30), names={"a"}, kind=GPT, gelu=F.gelu)
    save("objects.pt", {"model": {**model.state_dict(), "transformer.wpe.weight": tagged}, **beside}, model)
    # modules saved whole
    model = filled(GPT2020(), 11)
    model.blocks[0].attn.n_head = HEADS
    save("whole.pt", model, model)
    model = filled(GPT2020(), 12)
    save("whole_in_dict.pt", {"epoch": 3, "model": model}, model)

    os.makedirs(os.path.join(HERE, "refused"), exist_ok=True)
    tensor = {"w": torch.zeros(2)}
    save("refused/namespace.pt", argparse.Namespace(state_dict=tensor))
    save("refused/module.pt", nn.Linear(1, 1))
    save("refused/list.pt", [torch.zeros(2)])
    if ONLY:
        return
    torch.save(tensor, os.path.join(HERE, "refused/before_1_6.pt"), _use_new_zipfile_serialization=False)
    torch.jit.script(nn.Linear(1, 1)).save(os.path.join(HERE, "refused/script.pt"))


main()
if ONLY:
    with open(os.path.join(HERE, "expected.json")) as f:
        known = json.load(f)
else:
    known = {"torch": torch.__version__, "ids": IDS, "logits": {}}
known["logits"].update(EXPECTED)
known["later"] = {**known.get("later", {}), **{name: v for name, v in VERSIONS.items() if v != known["torch"]}}
with open(os.path.join(HERE, "expected.json"), "w") as f:
    json.dump(known, f)
    f.write("\n")
