"""Losses, gradients and fifty steps of five small models, by PyTorch in float64.

    python3 make.py            writes NAME.recipe and NAME.bin beside this file

NAME.recipe is read by the trainer's own recipe reader. NAME.bin, little-endian:
    int32 n_seqs, n, n_source, n_floats, n_steps
    int32 lengths[n_seqs], ids[n], targets[n], source_lengths[n_seqs], source_ids[n_source]
    float32 weights[n_floats]      roster order (names below), drawn here
    float64 loss                   sum over targets
    float32 gradients[n_floats]    of that sum
    float64 losses[n_steps]        mean per target before each step on the same batch
The model below is written from the papers' formulas and shares no code with the engine. Steps: AdamW is
torch.optim.AdamW in groups, Muon is Jordan's update (momentum 0.95, Nesterov, five Newton-Schulz steps, scaled
by sqrt(max(1, rows / cols))), gradients clipped by torch.nn.utils.clip_grad_norm_.
Made with Python 3.11, PyTorch 1.13.
"""
import math, os, struct, sys
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
HERE = os.path.dirname(os.path.abspath(__file__))

BASE = dict(kind='decoder', vocab_size=24, d_model=16, n_layers=2, n_encoder_layers=0, n_heads=2, n_kv_heads=2, d_head=8, d_ff=24,
            context_length=12, norm='rmsnorm', norm_eps=1e-6, norm_placement='pre', final_norm=1, qk_norm=0, ffn='swiglu',
            position='rope', rope_theta=10000, rope_pairs='half', bias_qkv=0, bias_attn_out=0, bias_ffn=0, bias_norm=1, bias_head=0,
            tie_word_embeddings=1, shared_embedding=1, embedding_scale=1)
GPT2 = dict(norm='layernorm', norm_eps=1e-5, ffn='gelu_tanh', position='learned', bias_qkv=1, bias_attn_out=1, bias_ffn=1)
CASES = {
    'modern': dict(muon=1),
    'gpt2': dict(GPT2, muon=0),
    'grouped': dict(n_heads=4, n_kv_heads=2, d_head=6, qk_norm=1, bias_qkv=1, tie_word_embeddings=0, rope_pairs='adjacent', muon=0),
    'classic': dict(norm='layernorm', norm_eps=1e-5, norm_placement='post', ffn='gelu_erf', position='sinusoidal',
                    tie_word_embeddings=0, embedding_scale=4, muon=0),
    'translation': dict(GPT2, kind='encoder_decoder', n_layers=1, n_encoder_layers=1, norm_placement='post', final_norm=0, ffn='relu',
                        position='sinusoidal', tie_word_embeddings=0, bias_head=1, muon=1),
}


def roster(c):
    d, q, kv, ff = c['d_model'], c['n_heads'] * c['d_head'], c['n_kv_heads'] * c['d_head'], c['d_ff']
    two = c['kind'] == 'encoder_decoder'

    def norm(name):
        yield name + '.weight', (d,)
        if c['norm'] == 'layernorm' and c['bias_norm']: yield name + '.bias', (d,)

    def attention(p, self):
        for n, rows in ('q', q), ('k', kv), ('v', kv): yield f'{p}.{n}.weight', (rows, d)
        if c['bias_qkv']:
            for n, rows in ('q', q), ('k', kv), ('v', kv): yield f'{p}.{n}.bias', (rows,)
        if c['qk_norm'] and self:
            yield p + '.q_norm.weight', (c['d_head'],)
            yield p + '.k_norm.weight', (c['d_head'],)
        yield p + '.o.weight', (d, q)
        if c['bias_attn_out']: yield p + '.o.bias', (d,)

    def stack(prefix, layers, cross):
        for l in range(layers):
            b = f'{prefix}.{l}'
            yield from norm(b + '.norm1')
            yield from attention(b + '.attn', True)
            if cross:
                yield from norm(b + '.norm2')
                yield from attention(b + '.cross_attn', False)
            yield from norm(b + ('.norm3' if cross else '.norm2'))
            if c['ffn'] == 'swiglu': yield b + '.ffn.gate.weight', (ff, d)
            yield b + '.ffn.up.weight', (ff, d)
            if c['bias_ffn'] and c['ffn'] == 'swiglu': yield b + '.ffn.gate.bias', (ff,)
            if c['bias_ffn']: yield b + '.ffn.up.bias', (ff,)
            yield b + '.ffn.down.weight', (d, ff)
            if c['bias_ffn']: yield b + '.ffn.down.bias', (d,)

    yield 'embed.weight', (c['vocab_size'], d)
    if c['position'] == 'learned': yield 'position.weight', (c['context_length'], d)
    if two: yield from stack('encoder', c['n_encoder_layers'], False)
    yield from stack('decoder' if two else 'blocks', c['n_layers'], two)
    if c['final_norm']: yield from norm('final_norm')
    if not c['tie_word_embeddings']: yield 'head.weight', (c['vocab_size'], d)
    if c['bias_head']: yield 'head.bias', (c['vocab_size'],)


class Model:
    def __init__(self, c, w): self.c, self.w = c, w

    def linear(self, name, x): return F.linear(x, self.w[name + '.weight'], self.w.get(name + '.bias'))

    def norm(self, name, x):
        c, g = self.c, self.w[name + '.weight']
        if c['norm'] == 'layernorm': return F.layer_norm(x, x.shape[-1:], g, self.w.get(name + '.bias'), c['norm_eps'])
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + c['norm_eps']) * g

    def rotate(self, x):
        c, (t, h, d) = self.c, x.shape
        angle = torch.arange(t)[:, None] * c['rope_theta'] ** (-2.0 * torch.arange(d // 2) / d)
        cos, sin = torch.cos(angle)[:, None], torch.sin(angle)[:, None]
        if c['rope_pairs'] == 'half': a, b = x[..., :d // 2], x[..., d // 2:]
        else: a, b = x[..., ::2], x[..., 1::2]
        u, v = a * cos - b * sin, a * sin + b * cos
        return torch.cat([u, v], -1) if c['rope_pairs'] == 'half' else torch.stack([u, v], -1).flatten(-2)

    def attention(self, p, x, memory, causal):
        c, source = self.c, x if memory is None else memory
        d = c['d_head']
        q, k, v = (self.linear(f'{p}.{n}', s).view(len(s), -1, d) for n, s in (('q', x), ('k', source), ('v', source)))
        if c['qk_norm']:
            def rms(y, g): return y / torch.sqrt((y * y).mean(-1, keepdim=True) + c['norm_eps']) * g
            q, k = rms(q, self.w[p + '.q_norm.weight']), rms(k, self.w[p + '.k_norm.weight'])
        if c['position'] == 'rope' and memory is None: q, k = self.rotate(q), self.rotate(k)
        k, v = (y.repeat_interleave(c['n_heads'] // c['n_kv_heads'], 1) for y in (k, v))
        s = torch.einsum('qhd,khd->hqk', q, k) / math.sqrt(d)
        if causal: s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
        z = torch.einsum('hqk,khd->qhd', s.softmax(-1), v)
        return self.linear(p + '.o', z.flatten(1))

    def ffn(self, p, x):
        up = self.linear(p + '.up', x)
        kind = self.c['ffn']
        if kind == 'swiglu': h = F.silu(self.linear(p + '.gate', x)) * up
        elif kind == 'relu': h = F.relu(up)
        elif kind == 'gelu_erf': h = F.gelu(up)
        else: h = 0.5 * up * (1 + torch.tanh(math.sqrt(2 / math.pi) * (up + 0.044715 * up ** 3)))
        return self.linear(p + '.down', h)

    def around(self, norm, x, f):
        return x + f(self.norm(norm, x)) if self.c['norm_placement'] == 'pre' else self.norm(norm, x + f(x))

    def embed(self, ids):
        c, x = self.c, self.w['embed.weight'][ids] * self.c['embedding_scale']
        t, d = x.shape
        if c['position'] == 'learned': x = x + self.w['position.weight'][:t]
        if c['position'] == 'sinusoidal':
            angle = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
            x = x + torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        return x

    def stack(self, prefix, n, x, memory, causal):
        for l in range(n):
            b = f'{prefix}.{l}'
            x = self.around(b + '.norm1', x, lambda y: self.attention(b + '.attn', y, None, causal))
            if memory is not None:
                x = self.around(b + '.norm2', x, lambda y: self.attention(b + '.cross_attn', y, memory, False))
            x = self.around(b + ('.norm2' if memory is None else '.norm3'), x, lambda y: self.ffn(b + '.ffn', y))
        return x

    def logits(self, ids, source):
        c, memory = self.c, None
        if c['kind'] == 'encoder_decoder': memory = self.stack('encoder', c['n_encoder_layers'], self.embed(source), None, False)
        x = self.stack('blocks' if memory is None else 'decoder', c['n_layers'], self.embed(ids), memory, True)
        if c['final_norm']: x = self.norm('final_norm', x)
        return F.linear(x, self.w['embed.weight' if c['tie_word_embeddings'] else 'head.weight'], self.w.get('head.bias'))


def loss_of(model, batch):
    return sum(F.cross_entropy(model.logits(i, s), t, reduction='sum', ignore_index=-1) for i, t, s in batch)


def newton_schulz(g):
    x = g / (g.norm() + 1e-7)
    turned = x.shape[0] > x.shape[1]
    if turned: x = x.T
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if turned else x


def steps(c, w, batch, n):
    lr, muon_lr, decay, count = 0.003, 0.02, 0.1, sum(int((t >= 0).sum()) for _, t, _ in batch)
    muon = [k for k in w if c['muon'] and w[k].dim() == 2 and ('attn' in k or 'ffn' in k)]
    rest = [k for k in w if k not in muon]
    adam = torch.optim.AdamW([dict(params=[w[k] for k in rest if w[k].dim() == 2], weight_decay=decay),
                              dict(params=[w[k] for k in rest if w[k].dim() == 1], weight_decay=0)], lr=lr, betas=(0.9, 0.95), eps=1e-8)
    buf = {k: torch.zeros_like(w[k]) for k in muon}
    losses = []
    for s in range(1, n + 1):
        warm = math.ceil(0.1 * n)
        rate = s / warm if s <= warm else 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min((s - warm) / (n - warm), 1)))
        for p in w.values(): p.grad = None
        loss = loss_of(Model(c, w), batch) / count
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
        for group in adam.param_groups: group['lr'] = lr * rate
        adam.step()
        with torch.no_grad():
            for k in muon:
                g = w[k].grad
                buf[k].lerp_(g, 0.05)
                u = newton_schulz(g.lerp(buf[k], 0.95)) * max(1, w[k].shape[0] / w[k].shape[1]) ** 0.5
                w[k].mul_(1 - muon_lr * rate * decay).sub_(muon_lr * rate * u)
    return losses


def main():
    for number, (name, change) in enumerate(CASES.items()):
        c = dict(BASE, **change)
        torch.manual_seed(number)
        w = {}
        for k, shape in roster(c):
            x = torch.randn(shape) * 0.2 + (1 if len(shape) == 1 and k.endswith('.weight') else 0)
            w[k] = x.float().double().requires_grad_()
        two = c['kind'] == 'encoder_decoder'
        draw = lambda n: torch.randint(0, c['vocab_size'], (n,))
        lengths, sources = [7, 12, 3, 9], [5, 8, 2, 11] if two else [0] * 4
        batch = [(draw(n), draw(n), draw(m)) for n, m in zip(lengths, sources)]
        batch[1][1][4] = -1
        loss = loss_of(Model(c, w), batch)
        loss.backward()
        grads = [w[k].grad.clone() for k in w]
        flat = torch.cat([x.detach().flatten() for x in w.values()]).float()
        losses = steps(c, w, batch, 50)
        ints = lambda xs: struct.pack(f'<{len(xs)}i', *xs)
        all_of = lambda i: [int(x) for b in batch for x in b[i]]
        with open(os.path.join(HERE, name + '.bin'), 'wb') as f:
            f.write(ints([4, sum(lengths), sum(sources), flat.numel(), 50]))
            f.write(ints(lengths) + ints(all_of(0)) + ints(all_of(1)) + ints(sources) + ints(all_of(2)))
            f.write(flat.numpy().tobytes() + struct.pack('<d', loss.item()))
            f.write(torch.cat([g.flatten() for g in grads]).float().numpy().tobytes() + struct.pack('<50d', *losses))
        with open(os.path.join(HERE, name + '.recipe'), 'w') as f:
            f.write(f'# written by make.py\n')
            for k, v in c.items(): f.write(f'{k} = {v}\n')
            f.write('steps = 50\nwarmup = 0.1\nfinal_rate = 0.02\nlr = 0.003\nmuon_lr = 0.02\nweight_decay = 0.1\nclip = 1\nbeta2 = 0.95\neps = 1e-8\n')
        print(name, flat.numel(), loss.item(), losses[0], losses[-1])


main()
