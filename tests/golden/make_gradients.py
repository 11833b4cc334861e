"""Writes gradients.json: gradients at every point and of every weight of the models in models/, by PyTorch's autograd in
double precision on the implementation of make_golden.py, and the circuits of one head.

    /usr/bin/python3 tests/golden/make_gradients.py

Each tensor is kept as its Euclidean norm and its products with sin(i + 1) and cos(2 i), i counting its elements. Scores
and patterns count as 0 where the mask hides them. Runs with a mask and runs with a change are left out, and so are
models/'s encoders, which have no head; BERT with its masked-token head is the one in cases/bert_mlm.
"""
import json, math, os, struct
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
golden = {'__file__': os.path.join(HERE, 'make_golden.py')}
with open(golden['__file__']) as f:
    exec(compile(f.read().rstrip().removesuffix('main()'), 'make_golden.py', 'exec'), golden)
torch.set_grad_enabled(True)


class Traced(golden['Run']):
    """A pass whose points keep their gradients."""

    def __init__(self, c, weights):
        super().__init__(c, weights)
        for w in self.w.values(): w.requires_grad_(True)
        self.kept = []

    def see(self, name, stack, layer, value):
        if not value.requires_grad: value = value.clone().requires_grad_(True)
        value.retain_grad()
        self.kept.append((name, stack, layer, value))
        return value


def summary(t):
    x = t.detach().reshape(-1)
    i = torch.arange(len(x), dtype=torch.float64)
    return [float(f'{v:.9g}') for v in (x.norm(), x @ torch.sin(i + 1), x @ torch.cos(2 * i))]


def name_of(c, name, stack, layer):
    two = c.kind == 'encoder_decoder'
    prefix = ('encoder.' if stack else 'decoder.') if two else ''
    return prefix + name if layer < 0 else f'{prefix or "blocks."}{layer}.{name}'


def case(c, weights, ids, source, metric):
    run = Traced(c, weights)
    out = run(ids, source or None)
    if metric == 'loss': value = torch.nn.functional.cross_entropy(out[:-1], torch.tensor(ids[1:]))
    else: value = out[metric['position'], metric['token']] - out[metric['position'], metric['minus']]
    value.backward()
    found = {}
    for name, stack, layer, x in run.kept:
        if x.grad is None: continue
        hidden = torch.zeros((), dtype=torch.bool)
        if name.endswith(('hook_pattern',)) and stack == 0 and 'cross' not in name:
            n = x.shape[1]
            hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if c.causal else hidden
            if c.sliding_window: hidden = hidden | torch.ones(n, n, dtype=torch.bool).tril(-c.sliding_window)
        found[name_of(c, name, stack, layer)] = summary(x.grad.masked_fill(hidden, 0))
    for name, w in run.w.items():
        if w.grad is not None: found[name] = summary(w.grad)
    return dict(of=metric, value=float(value), gradients=found)


def circuits(c, weights, layer, head):
    """Singular values of OV and QK and the copying score (Elhage et al. 2021), by LAPACK."""
    w = {k: v.double() for k, v in weights.items()}
    block, d, kv = f'blocks.{layer}.', c.d_head, head // (c.n_heads // c.n_kv_heads)
    gain = w.get(block + 'norm1.weight', 1.0) if c.norm_placement == 'pre' else 1.0
    part = lambda name, h: w[f'{block}attn.{name}.weight'][h * d:(h + 1) * d] * gain
    ov = part('v', kv).T @ w[block + 'attn.o.weight'][:, head * d:(head + 1) * d].T
    qk = part('q', head).T @ part('k', kv)
    unembed = w.get('head.weight', w['embed.weight']) * w.get('final_norm.weight', 1.0)
    eigen = torch.linalg.eigvals(w['embed.weight'] @ ov @ unembed.T)
    values = lambda m: [float(f'{x:.9g}') for x in torch.linalg.svdvals(m)[:d]]
    return dict(layer=layer, head=head, ov=values(ov), qk=values(qk), copying=float(eigen.real.sum() / eigen.abs().sum()),
                element=[float(ov[1, 2]), float(qk[1, 2])])


cases = []


def write(name, config, runs, seed, embed_std=0.5, exact=None, int8=False):
    c = golden['Config']({**golden['DEFAULTS'], **config})
    weights = golden['draw'](c, seed, embed_std, exact)
    if c.kind == 'encoder': return 0
    n = 9
    ids = [(7 * i + 3) % c.vocab_size for i in range(n)]
    source = [(5 * i + 2) % c.vocab_size for i in range(6)] if c.kind == 'encoder_decoder' else []
    metrics = ['loss', dict(token=4, minus=11, position=n - 2)]
    cases.append(dict(name=name, config=dict(c), ids=ids, source=source, runs=[case(c, weights, ids, source, m) for m in metrics],
                      **({} if source else dict(circuit=circuits(c, weights, c.n_layers - 1, 1)))))
    return 0


def bert(name, ids, metric):
    """Devlin et al. 2019 with the masked-token head, on a folder in Hugging Face's format."""
    folder = os.path.join(HERE, 'cases', name)
    with open(os.path.join(folder, 'config.json')) as f: c = json.load(f)
    with open(os.path.join(folder, 'model.safetensors'), 'rb') as f: data = f.read()
    n = struct.unpack('<Q', data[:8])[0]
    w = {}
    for key, t in json.loads(data[8:8 + n]).items():
        if key == '__metadata__': continue
        a, b = (8 + n + x for x in t['data_offsets'])
        w[key] = torch.frombuffer(bytearray(data[a:b]), dtype=torch.float32).double().reshape(t['shape']).requires_grad_(True)
    kept = {}

    def see(point, x):
        x.retain_grad()
        kept[point] = x
        return x

    def linear(x, key): return x @ w[key + '.weight'].T + w[key + '.bias']

    def norm(x, key):
        x = x - x.mean(-1, keepdim=True)
        return x / ((x * x).mean(-1, keepdim=True) + c['layer_norm_eps']).sqrt() * w[key + '.weight'] + w[key + '.bias']

    def gelu(x): return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    ours, e = {}, 'bert.embeddings.'
    for key, name_here in [(e + 'word_embeddings', 'embed'), (e + 'position_embeddings', 'position'), (e + 'token_type_embeddings', 'token_type'),
                           (e + 'LayerNorm', 'embed_norm'), ('cls.predictions.transform.dense', 'head_transform'),
                           ('cls.predictions.transform.LayerNorm', 'head_norm')]: ours[key] = name_here
    words = see('hook_embed', w[e + 'word_embeddings.weight'][ids] * 1)
    x = words + w[e + 'position_embeddings.weight'][:len(ids)] + w[e + 'token_type_embeddings.weight'][0]
    x = norm(x, e + 'LayerNorm')
    heads = c['num_attention_heads']
    for l in range(c['num_hidden_layers']):
        b, to = f'bert.encoder.layer.{l}.', f'blocks.{l}.'
        for key, name_here in [('attention.self.query', 'attn.q'), ('attention.self.key', 'attn.k'), ('attention.self.value', 'attn.v'),
                               ('attention.output.dense', 'attn.o'), ('attention.output.LayerNorm', 'norm1'),
                               ('intermediate.dense', 'ffn.up'), ('output.dense', 'ffn.down'), ('output.LayerNorm', 'norm2')]:
            ours[b + key] = to + name_here
        x = see(to + 'hook_resid_pre', x * 1)
        q, k, v = (linear(x, b + f'attention.self.{part}').reshape(len(ids), heads, -1).transpose(0, 1) for part in ('query', 'key', 'value'))
        pattern = see(to + 'attn.hook_pattern', (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1))
        z = (pattern @ v).transpose(0, 1).reshape(len(ids), -1)
        x = norm(x + linear(z, b + 'attention.output.dense'), b + 'attention.output.LayerNorm')
        y = linear(gelu(linear(x, b + 'intermediate.dense')), b + 'output.dense')
        x = see(to + 'hook_resid_post', norm(x + y, b + 'output.LayerNorm'))
    h = norm(gelu(linear(x, 'cls.predictions.transform.dense')), 'cls.predictions.transform.LayerNorm')
    out = h @ w[e + 'word_embeddings.weight'].T + w['cls.predictions.bias']
    value = out[metric['position'], metric['token']] - out[metric['position'], metric['minus']]
    value.backward()
    found = {point: summary(x.grad) for point, x in kept.items()}
    for key, name_here in ours.items():
        for part in ('weight', 'bias'):
            if f'{key}.{part}' in w: found[f'{name_here}.{part}'] = summary(w[f'{key}.{part}'].grad)
    found['head.bias'] = summary(w['cls.predictions.bias'].grad)
    return dict(name=name, ids=ids, runs=[dict(of=metric, value=float(value), gradients=found)])


golden['write'] = write
golden['main']()
cases.append(bert('bert_mlm', [2, 17, 40, 9, 3, 88, 25, 61, 4], dict(token=30, minus=51, position=4)))
with open(os.path.join(HERE, 'gradients.json'), 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + '\n]\n')
