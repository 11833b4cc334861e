"""Writes gradients.json: gradients at every point and of every weight of the models in models/, by PyTorch's autograd in
double precision on the implementation of make_golden.py, and the circuits of one head.

    /usr/bin/python3 tests/golden/make_gradients.py

Each tensor is kept as its Euclidean norm and its products with sin(i + 1) and cos(2 i), i counting its elements. Scores
and patterns count as 0 where the mask hides them. Encoders, runs with a mask and runs with a change are left out.
"""
import json, math, os
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
    eigen = torch.linalg.eigvals(w['embed.weight'] @ ov @ w.get('head.weight', w['embed.weight']).T)
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


golden['write'] = write
golden['main']()
with open(os.path.join(HERE, 'gradients.json'), 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + '\n]\n')
