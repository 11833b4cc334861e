"""Writes lora.json: losses and adapters of fine-tuning two models of cases/ with LoRA, in PyTorch, in float64.

    /usr/bin/python3 tests/golden/make_lora.py

The layers are those of PEFT's source (peft/tuners/lora/layer.py, version 0.11): Linear.forward is base(x) +
lora_B(lora_A(x)) * lora_alpha / r; for a Conv1D, whose weight is [in, out], A and B are the same (fan_in_fan_out). The
models are written after transformers' modeling_llama.py and modeling_gpt2.py. Optimiser: torch.optim.AdamW.

Values to begin with are number(i, seed) / size, which the test computes too. Of the trained factors the file has the
Euclidean norm and the product with sin(i + 1), i counting the elements.
"""
import json, math, os, struct
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))


def number(i, seed): return (i * 7919 + seed * 104729) % 2001 - 1000


def values(shape, seed, size):
    return torch.tensor([number(i, seed) / size for i in range(shape[0] * shape[1])], dtype=torch.float32).double().reshape(shape)


def read(folder):
    with open(os.path.join(HERE, 'cases', folder, 'model.safetensors'), 'rb') as f: raw = f.read()
    n, = struct.unpack('<Q', raw[:8])
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name == '__metadata__': continue
        a, b = t['data_offsets']
        kind = dict(F32=torch.float32, F16=torch.float16)[t['dtype']]
        out[name] = torch.frombuffer(bytearray(raw[8 + n + a:8 + n + b]), dtype=kind).double().reshape(t['shape'])
    with open(os.path.join(HERE, 'cases', folder, 'config.json')) as f: return json.load(f), out


class Lora:
    """The factors of all modules, and a linear layer with them."""

    def __init__(self, case, weights):
        self.scale, self.w, self.factors = case['alpha'] / case['r'], weights, {}
        for i, (name, transposed) in enumerate(case['modules']):
            shape = self.base(name + '.weight').shape
            out, width = reversed(shape) if transposed else shape
            a = values((case['r'], width), 2 * i + 1, case['a']).requires_grad_(True)
            b = (values((out, case['r']), 2 * i + 2, case['b']) if case['b'] else torch.zeros(out, case['r'])).requires_grad_(True)
            self.factors[name] = a, b

    def base(self, name): return self.w.get(name, self.w.get(name.removeprefix('transformer.')))

    def linear(self, name, x, transposed=False, bias=False):
        w = self.base(name + '.weight')
        y = x @ (w if transposed else w.T)
        if bias: y = y + self.base(name + '.bias')
        if name in self.factors:
            a, b = self.factors[name]
            y = y + (x @ a.T) @ b.T * self.scale
        return y


def attend(q, k, v):
    n = q.shape[-2]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -math.inf), -1) @ v


def llama(c, m, ids):
    n, heads, kv = len(ids), c['num_attention_heads'], c['num_key_value_heads']
    d = c['hidden_size'] // heads
    norm = lambda name, x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + c['rms_norm_eps']) * m.base(name + '.weight')
    angle = torch.arange(n)[:, None] * c['rope_theta'] ** (-torch.arange(0, d, 2) / d)[None]
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    turn = lambda x: x * cos + torch.cat([-x[..., d // 2:], x[..., :d // 2]], -1) * sin
    split = lambda x: x.reshape(n, -1, d).transpose(0, 1)
    x = m.base('model.embed_tokens.weight')[ids]
    for l in range(c['num_hidden_layers']):
        p = f'model.layers.{l}.'
        h = norm(p + 'input_layernorm', x)
        q, k, v = (split(m.linear(f'{p}self_attn.{s}_proj', h)) for s in 'qkv')
        k, v = (t.repeat_interleave(heads // kv, 0) for t in (turn(k), v))
        x = x + m.linear(p + 'self_attn.o_proj', attend(turn(q), k, v).transpose(0, 1).reshape(n, -1))
        h = norm(p + 'post_attention_layernorm', x)
        x = x + m.linear(p + 'mlp.down_proj', F.silu(m.linear(p + 'mlp.gate_proj', h)) * m.linear(p + 'mlp.up_proj', h))
    return norm('model.norm', x) @ m.base('model.embed_tokens.weight').T


def gpt2(c, m, ids):
    n, d = len(ids), c['n_embd'] // c['n_head']
    norm = lambda name, x: F.layer_norm(x, x.shape[-1:], m.base(name + '.weight'), m.base(name + '.bias'), c['layer_norm_epsilon'])
    gelu = lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    x = m.base('transformer.wte.weight')[ids] + m.base('transformer.wpe.weight')[:n]
    for l in range(c['n_layer']):
        p = f'transformer.h.{l}.'
        qkv = m.linear(p + 'attn.c_attn', norm(p + 'ln_1', x), True, True)
        q, k, v = (t.reshape(n, -1, d).transpose(0, 1) for t in qkv.split(c['n_embd'], -1))
        x = x + m.linear(p + 'attn.c_proj', attend(q, k, v).transpose(0, 1).reshape(n, -1), True, True)
        x = x + m.linear(p + 'mlp.c_proj', gelu(m.linear(p + 'mlp.c_fc', norm(p + 'ln_2', x), True, True)), True, True)
    return norm('transformer.ln_f', x) @ m.base('transformer.wte.weight').T


def run(case):
    config, weights = read(case['folder'])
    m, forward = Lora(case, weights), globals()[config['model_type']]
    params = [p for pair in m.factors.values() for p in pair]
    o = case['options']
    optim = torch.optim.AdamW(params, lr=o['lr'], betas=(o['beta1'], o['beta2']), eps=o['eps'], weight_decay=o['weightDecay'])
    targets = torch.tensor([t for ids in case['examples'] for t in ids[1:]])
    # A teacher is the model without adapter (Hinton et al. 2015, temperature 1).
    share, plain, losses = case.get('teacherShare', 0), Lora(dict(case, modules=[]), weights), []
    with torch.no_grad(): taught = torch.cat([forward(config, plain, ids)[:-1] for ids in case['examples']]).softmax(-1)
    for _ in range(o['steps']):
        logits = torch.cat([forward(config, m, ids)[:-1] for ids in case['examples']])
        loss = F.cross_entropy(logits, targets)
        optim.zero_grad()
        ((1 - share) * loss + share * F.cross_entropy(logits, taught)).backward()
        if o['clip']: torch.nn.utils.clip_grad_norm_(params, o['clip'])
        optim.step()
        losses.append(float(f'{loss.item():.9g}'))
    summary = lambda x: [float(f'{v:.7g}') for v in (x.norm(), (x.reshape(-1) * torch.sin(torch.arange(1, x.numel() + 1))).sum())]
    trained = {name: [summary(t.detach()) for t in pair] for name, pair in m.factors.items()}
    return dict(case, losses=losses, trained=trained)


def examples(n, length, vocab): return [[(31 * i + (7 + i) * t + t * t) % vocab for t in range(length)] for i in range(n)]


options = dict(steps=40, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8, weightDecay=0.01, clip=1)
cases = [
    dict(folder='llama_gqa_f16', r=4, alpha=8, a=8000, b=0, options=options, examples=examples(5, 12, 384),
         modules=[[f'model.layers.{l}.{s}', False] for l in range(2) for s in ('self_attn.q_proj', 'self_attn.v_proj', 'mlp.down_proj')]),
    dict(folder='gpt2_n_inner', r=3, alpha=5, a=6000, b=30000, options=dict(options, clip=0.25, weightDecay=0.1, beta2=0.95),
         examples=examples(4, 15, 400), modules=[[f'transformer.h.{l}.{s}', True] for l in range(2) for s in ('attn.c_attn', 'mlp.c_fc')]),
    dict(folder='gpt2_n_inner', teacherShare=0.25, r=2, alpha=4, a=6000, b=9000, options=dict(options, steps=10), examples=examples(3, 9, 400),
         modules=[['transformer.h.1.mlp.c_proj', True]]),
]
with open(os.path.join(HERE, 'lora.json'), 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(run(c), separators=(',', ':')) for c in cases) + '\n]\n')
