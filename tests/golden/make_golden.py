#!/usr/bin/env python3
"""Writes tests/golden/models/*.gold: tiny models of every variant with everything that happens inside them.

An implementation of its own, in float64 on torch tensors, that shares no line with the engine: whole sequences at once, no
cache, weights looked up by name. Each file holds one model (configuration, weights) and one or more runs of it (ids, the output,
values at every capture point, and decoys: the output that a plausible mistake would have given).

  python3 tests/golden/make_golden.py            (needs torch >= 1.13)

Layout, little endian; text is one length byte and its bytes, numbers u32 unless said otherwise:
  "GFGOLD1\\n"  text: model
  n, n x (text: field, f64)                                       configuration; what is not named: DEFAULTS below
  n, n x (text: name, rank, rows, cols, f32 [rows, cols])         weights, [out, in], in roster order
  n runs, each:
    text: run   n, n x (text: field, f64): changed in this run    n, i32 ids [n]   n, i32 source [n]   n, u8 mask [n] (n may be 0)
    full: 1 when every capture point of the architecture follows  f32: tolerance of the output
    rows, cols, f32 [rows, cols]: the output, logits (kind encoder: the states after the last norm)
    n, n x (text: point, i32 stack, i32 layer, dims [3], f32)     n, n x (text: mistake, f32 [rows, cols])
    n, n x edit: text: point, i32 stack, layer, head, position (-1: all), operation (0 scale, 1 set, 2 add), f32 scale,
                 n, f32 values [n], f32 [rows, cols]: the output with that one change
"""
import math, os, struct
import torch

torch.set_grad_enabled(False)
torch.set_num_threads(1)
F64 = torch.float64
HERE = os.path.dirname(os.path.abspath(__file__))

ENUMS = dict(kind=['decoder', 'encoder', 'encoder_decoder'], norm=['layernorm', 'rmsnorm', 'none'], norm_placement=['pre', 'post'],
             ffn=['relu', 'gelu_erf', 'gelu_tanh', 'swiglu', 'silu', 'reglu', 'geglu_erf', 'geglu_tanh', 'none'], position=['none', 'sinusoidal', 'learned', 'rope'],
             rope_pairs=['half', 'adjacent'], rope_scaling=['none', 'linear', 'llama3'])
DEFAULTS = dict(kind='decoder', n_encoder_layers=0, norm='rmsnorm', norm_eps=1e-5, norm_placement='pre', final_norm=1, qk_norm=0,
                ffn='swiglu', position='rope', rope_theta=10000.0, rope_pairs='half', rope_scaling='none', rope_factor=1.0,
                rope_low_freq_factor=1.0, rope_high_freq_factor=4.0, rope_original_context=8192, bias_qkv=0, bias_attn_out=0,
                bias_ffn=0, bias_norm=1, bias_head=0, sliding_window=0, tie_word_embeddings=1, embedding_scale=1.0,
                shared_embedding=1, causal=1, scale_scores=1, use_position=1, use_residual=1, use_norm=1, use_final_norm=1)


def f32(x):
    """The nearest float, as the engine's configuration holds it."""
    return struct.unpack('f', struct.pack('f', x))[0]


class Config(dict):
    __getattr__ = dict.__getitem__

    def encoder_decoder(self):
        return self.kind == 'encoder_decoder'


# ---- weights ---------------------------------------------------------------------------------------------------------

def tensor_list(c):
    """(name, shape, what) of every weight, in the order of tables and files."""
    out = []
    q, kv, d, two = c.n_heads * c.d_head, c.n_kv_heads * c.d_head, c.d_model, c.encoder_decoder()

    def norm(name):
        if c.norm == 'none': return
        out.append((name + '.weight', (d,), 'gain'))
        if c.norm == 'layernorm' and c.bias_norm: out.append((name + '.bias', (d,), 'bias'))

    def attention(p, qk_norm):
        for w, rows in (('q', q), ('k', kv), ('v', kv)): out.append((f'{p}.{w}.weight', (rows, d), 'matrix'))
        if c.bias_qkv:
            for w, rows in (('q', q), ('k', kv), ('v', kv)): out.append((f'{p}.{w}.bias', (rows,), 'bias'))
        if qk_norm:
            for w in 'qk': out.append((f'{p}.{w}_norm.weight', (c.d_head,), 'gain'))
        out.append((p + '.o.weight', (d, q), 'matrix'))
        if c.bias_attn_out: out.append((p + '.o.bias', (d,), 'bias'))

    def stack(name, layers, cross):
        for l in range(layers):
            b = f'{name}.{l}.'
            norm(b + 'norm1')
            attention(b + 'attn', c.qk_norm)
            if cross:
                norm(b + 'norm2')
                attention(b + 'cross_attn', 0)
            if c.ffn == 'none': continue
            norm(b + ('norm3' if cross else 'norm2'))
            inner = ['gate', 'up'] if c.ffn == 'swiglu' else ['up']
            for w in inner: out.append((f'{b}ffn.{w}.weight', (c.d_ff, d), 'matrix'))
            if c.bias_ffn:
                for w in inner: out.append((f'{b}ffn.{w}.bias', (c.d_ff,), 'bias'))
            out.append((b + 'ffn.down.weight', (d, c.d_ff), 'matrix'))
            if c.bias_ffn: out.append((b + 'ffn.down.bias', (d,), 'bias'))

    if two and not c.shared_embedding: out.append(('encoder.embed.weight', (c.vocab_size, d), 'embedding'))
    out.append(('embed.weight', (c.vocab_size, d), 'embedding'))
    if c.position == 'learned':
        if two: out.append(('encoder.position.weight', (c.context_length, d), 'position'))
        out.append(('position.weight', (c.context_length, d), 'position'))
    if two:
        stack('encoder', c.n_encoder_layers, False)
        if c.final_norm: norm('encoder.final_norm')
    stack('decoder' if two else 'blocks', c.n_layers, two)
    if c.final_norm: norm('final_norm')
    if c.kind != 'encoder':
        if not c.tie_word_embeddings: out.append(('head.weight', (c.vocab_size, d), 'matrix'))
        if c.bias_head: out.append(('head.bias', (c.vocab_size,), 'bias'))
    return out


def to_bf16(t):
    """Values that f32, f16 and bf16 all hold exactly."""
    return torch.where(t.abs() < 2.0 ** -14, torch.zeros_like(t), t).to(torch.bfloat16).to(torch.float32)


def on_a_grid(t, kind, g):
    """Values that a block format of 32 columns holds exactly, near t: scale x integers (+ minimum), the extremes reached."""
    rows, cols = t.shape
    x = t.view(rows, cols // 32, 32).to(F64)
    half = lambda v: v.to(torch.float16).to(F64)
    most = x.abs().amax(-1, keepdim=True)
    place = torch.randint(0, 32, (rows, cols // 32, 1), generator=g)
    if kind == 'q8_0':
        s = half(most / 127)
        q = (x / s).round().clamp(-127, 127).scatter(-1, place, 127.0)
        y = q * s
    elif kind == 'q4_0':
        s = half(most / 8)
        q = (x / s).round().clamp(-7, 7).scatter(-1, place, -8.0)  # the only one of magnitude 8: it fixes scale and sign
        y = q * s
    else:
        step = 2.0 ** -8  # scale and minimum are multiples of one power of two, so that max - min over 15 is exact
        m = (x.amin(-1, keepdim=True) / step).round() * step
        s = ((x.amax(-1, keepdim=True) - m) / 15 / step).round().clamp(min=1) * step
        q = ((x - m) / s).round().clamp(0, 15).scatter(-1, place, 0.0).scatter(-1, (place + 7) % 32, 15.0)
        y = q * s + m
    return (y + 0.0).view(rows, cols).to(torch.float32)  # no -0: blocks have none


def draw(c, seed, embed_std, exact=None, std=1.4):
    g = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape, what in tensor_list(c):
        x = torch.randn(*shape, generator=g, dtype=torch.float32)
        if what == 'gain': x = 1 + 0.15 * x
        elif what == 'bias': x = 0.2 * x
        elif what == 'embedding': x = embed_std * x
        elif what == 'position': x = 0.3 * x
        else: x = std / math.sqrt(shape[1]) * x
        if exact == 'bf16': x = to_bf16(x)
        elif exact and what in ('matrix', 'embedding'): x = on_a_grid(x, exact, g)
        weights[name] = x
    return weights


# ---- the model -------------------------------------------------------------------------------------------------------

def gelu_erf(x): return x * 0.5 * (1 + torch.special.erf(x * math.sqrt(0.5)))
def gelu_tanh(x): return x * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
def silu(x): return x * torch.sigmoid(x)


class Run:
    """One pass. `fault` names a mistake made on purpose; `jitter` is relative noise on what matrices are multiplied with;
    `edit` changes what one point shows, as (point, stack, layer, head, position, operation, scale, values)."""

    def __init__(self, c, weights, fault=None, int8=False, jitter=0.0, seed=0, edit=None):
        self.c, self.fault, self.int8, self.jitter, self.edit = c, fault, int8, jitter, edit
        self.w = {k: v.to(F64) for k, v in weights.items()}
        self.points = []  # (name, stack, layer, value)
        self.noise = torch.Generator().manual_seed(seed)

    def edits(self, name, stack, layer):
        return self.edit is not None and self.edit[:3] == (name, stack, layer)

    def see(self, name, stack, layer, value):
        """The value, or what an edit makes of it. Scores and patterns are [head, query, key], all else [position, (head,) ...]."""
        if self.edits(name, stack, layer):
            value = value.clone()
            head, position, op, scale, values = self.edit[3:]
            square = 'scores' in name or 'pattern' in name
            visible = square and bool(self.c.causal) and name.startswith('attn') and stack == 0
            rows = range(value.shape[1 if square else 0]) if position < 0 else [position]
            for r in rows:
                for h in ([None] if value.dim() == 2 else range(value.shape[0 if square else 1]) if head < 0 else [head]):
                    part = value[r] if h is None else value[h, r] if square else value[r, h]
                    n = r + 1 if visible else part.shape[0]
                    if op == 0: part[:n] *= f32(scale)
                    else:
                        v = torch.tensor(values, dtype=torch.float32).to(F64)
                        v = v.expand(n) if len(values) == 1 else v[:n]
                        part[:len(v)] = v + (part[:len(v)] if op == 2 else 0)
        self.points.append((name, stack, layer, value.clone()))
        return value

    def linear(self, x, name, out_bias=True):
        w = self.w[name + '.weight']
        if self.fault == 'down_transposed' and name.endswith('ffn.down'): w = w.reshape(w.shape[1], w.shape[0]).t()
        y = self.multiply(x, w)
        b = self.w.get(name + '.bias')
        return y if b is None or not out_bias else y + b

    def multiply(self, x, w):
        if self.jitter: x = x * (1 + self.jitter * torch.randn(x.shape, generator=self.noise, dtype=F64))
        if self.int8:  # activations become int8 in blocks of 32 where the weights are quantised
            b = x.reshape(x.shape[0], -1, 32)
            s = b.abs().amax(-1, keepdim=True) / 127
            x = ((b / torch.where(s > 0, s, torch.ones_like(s))).round() * s).reshape(x.shape)
        return x @ w.t()

    # -- norms
    def normalise(self, x):
        """-> what is divided, by what [n, 1]"""
        kind = self.c.norm
        if self.fault == 'norm_other': kind = 'rmsnorm' if kind == 'layernorm' else 'layernorm'
        if kind == 'layernorm': x = x - x.mean(-1, keepdim=True)
        square = (x * x).mean(-1, keepdim=True)
        eps = f32(self.c.norm_eps)
        scale = square.sqrt() + eps if self.fault == 'eps_outside' else (square + eps).sqrt()
        return x, scale

    def norm(self, x, name, point, stack, layer, on=True):
        if not on or self.c.norm == 'none': return x
        y, scale = self.normalise(x)
        scale = self.see(point + '.hook_scale', stack, layer, scale)
        y = self.see(point + '.hook_normalized', stack, layer, y / scale)
        y = y * self.w[name + '.weight']
        b = self.w.get(name + '.bias')
        return y if b is None else y + b

    # -- positions
    def rope(self, x, offset=0):
        """x [n, heads, d_head]"""
        c, half = self.c, self.c.d_head // 2
        frequency = torch.tensor([f32(c.rope_theta) ** (-2.0 * i / c.d_head) for i in range(half)], dtype=F64)
        scaling = c.rope_scaling
        if self.fault == 'llama3_as_linear': scaling = 'linear'
        if self.fault == 'no_rope_scaling': scaling = 'none'
        if scaling == 'linear': frequency = frequency / f32(c.rope_factor)
        elif scaling == 'llama3':
            low, high, old, factor = c.rope_low_freq_factor, c.rope_high_freq_factor, c.rope_original_context, c.rope_factor
            for i in range(half):
                turns = old / (2 * math.pi / frequency[i])  # full turns within the original context
                keep = min(1.0, max(0.0, (turns - low) / (high - low)))
                frequency[i] = frequency[i] * (keep + (1 - keep) / factor)
        angle = (torch.arange(x.shape[0], dtype=F64) + offset)[:, None] * frequency
        z = torch.polar(torch.ones_like(angle), angle)[:, None]
        adjacent = (c.rope_pairs == 'adjacent') != (self.fault == 'rope_pairs')
        if adjacent: a, b = x[..., 0::2], x[..., 1::2]
        else: a, b = x[..., :half], x[..., half:]
        turned = torch.complex(a.contiguous(), b.contiguous()) * z
        y = torch.empty_like(x)
        if adjacent: y[..., 0::2], y[..., 1::2] = turned.real, turned.imag
        else: y[..., :half], y[..., half:] = turned.real, turned.imag
        return y

    def rope_heads(self, x, offset=0):
        """The first rotary_kv_heads groups of x's heads, the others as they are; without this field all."""
        some = self.c.get('rotary_kv_heads', 0)
        if not some or self.fault == 'rope_every_head': return self.rope(x, offset)
        first = x.shape[1] // self.c.n_kv_heads * some
        if self.fault == 'rope_as_many_queries': first = some
        if self.fault == 'rope_last_heads': return torch.cat([x[:, :-first], self.rope(x[:, -first:], offset)], 1)
        return torch.cat([self.rope(x[:, :first], offset), x[:, first:]], 1)

    def sinusoids(self, n):
        d = self.c.d_model
        p = torch.zeros(n, d, dtype=F64)
        for pos in range(n):
            for j in range(d):
                angle = pos / 10000.0 ** (2 * (j // 2) / d)
                p[pos, j] = math.cos(angle) if j % 2 else math.sin(angle)
        return p

    # -- attention
    def head_norm(self, x, gain):
        square = (x * x).mean(-1, keepdim=True)
        return x / (square + f32(self.c.norm_eps)).sqrt() * gain

    def allowed(self, n_queries, n_keys, causal, window, key_mask):
        i, j = torch.arange(n_queries)[:, None], torch.arange(n_keys)[None, :]
        ok = torch.ones(n_queries, n_keys, dtype=torch.bool)
        if causal: ok &= j <= i
        if window: ok &= j > i - window - int(self.fault == 'window_off_by_one')
        if key_mask is not None and self.fault != 'mask_ignored': ok &= key_mask[None, :]
        return ok

    def attend(self, q, k, v, ok, name, prefix, stack, layer):
        """q [n, heads, d_head], k, v [m, kv heads, d_head] -> the output rows"""
        c = self.c
        n, heads, d_head = q.shape
        group = heads // k.shape[1]
        spread = (lambda t: t.repeat(1, group, 1)) if self.fault == 'gqa_interleaved' else (lambda t: t.repeat_interleave(group, 1))
        see = lambda point, value: self.see(prefix + point, stack, layer, value)
        raw = see('hook_attn_scores_raw', torch.einsum('nhd,mhd->hnm', q, spread(k)))
        scaled = see('hook_attn_scores_scaled', raw * (d_head ** -0.5 if c.scale_scores else 1.0))
        masked = see('hook_attn_scores', scaled.masked_fill(~ok, -math.inf))
        pattern = see('hook_pattern', torch.softmax(masked, -1))
        z = see('hook_z', torch.einsum('hnm,mhd->nhd', pattern, spread(v)))
        w = self.w[name + '.o.weight'].view(c.d_model, heads, d_head)
        result = see('hook_result', torch.einsum('nhd,ohd->nho', z, w))
        if self.edits(prefix + 'hook_result', stack, layer): return result.sum(1) + self.w.get(name + '.o.bias', 0.0)
        return self.linear(z.reshape(n, -1), name + '.o')

    def self_attention(self, x, name, stack, layer, causal, key_mask):
        c, n = self.c, x.shape[0]
        own = stack == 1 and self.fault != 'decoder_heads' and c.get('n_encoder_heads')
        d_head = c.n_heads * c.d_head // own if own else c.d_head
        q, k, v = (self.linear(x, f'{name}.{t}').view(n, -1, d_head) for t in 'qkv')
        q, k, v = (self.see('attn.hook_' + t, stack, layer, value) for t, value in zip('qkv', (q, k, v)))
        turn = c.position == 'rope' and c.use_position
        if c.qk_norm and self.fault != 'no_qk_norm':
            q, k = self.head_norm(q, self.w[name + '.q_norm.weight']), self.head_norm(k, self.w[name + '.k_norm.weight'])
        if turn:
            q, k = self.rope_heads(q, 1 if self.fault == 'rope_offset' else 0), self.rope_heads(k)
            q, k = self.see('attn.hook_rot_q', stack, layer, q), self.see('attn.hook_rot_k', stack, layer, k)
        return self.attend(q, k, v, self.allowed(n, n, causal, c.sliding_window, key_mask), name, 'attn.', stack, layer)

    def cross_attention(self, x, memory, name, layer, key_mask):
        c, n, m = self.c, x.shape[0], memory.shape[0]
        q = self.linear(x, name + '.q').view(n, -1, c.d_head)
        k, v = (self.linear(memory, f'{name}.{t}').view(m, -1, c.d_head) for t in 'kv')
        q, k, v = (self.see('cross_attn.hook_' + t, 0, layer, value) for t, value in zip('qkv', (q, k, v)))
        return self.attend(q, k, v, self.allowed(n, m, False, 0, key_mask), name, 'cross_attn.', 0, layer)

    # -- feed-forward
    def feed_forward(self, x, name, stack, layer):
        kind = self.c.ffn
        if self.fault == 'gelu_other': kind = {'gelu_erf': 'gelu_tanh', 'gelu_tanh': 'gelu_erf'}[kind]
        up = self.linear(x, name + '.up')
        if kind == 'swiglu':
            gate = self.linear(x, name + '.gate')
            if self.fault == 'gate_for_up': gate, up = up, gate
            gate, up = self.see('mlp.hook_pre', stack, layer, gate), self.see('mlp.hook_pre_linear', stack, layer, up)
            post = silu(gate) * up
        else:
            up = self.see('mlp.hook_pre', stack, layer, up)
            post = {'relu': torch.relu, 'gelu_erf': gelu_erf, 'gelu_tanh': gelu_tanh}[kind](up)
        return self.linear(self.see('mlp.hook_post', stack, layer, post), name + '.down')

    # -- the whole
    def stack(self, x, name, stack, layers, causal, key_mask, memory=None, memory_mask=None):
        c = self.c
        pre = (c.norm_placement == 'pre') != (self.fault == 'pre_post')
        for l in range(layers):
            b = f'{name}.{l}.'

            def around(x, norm_name, norm_point, sublayer, out_point, sum_point):
                y = self.norm(x, b + norm_name, norm_point, stack, l, c.use_norm) if pre else x
                y = self.see(out_point, stack, l, sublayer(y))
                x = x + y if c.use_residual else y
                if not pre: x = self.norm(x, b + norm_name, norm_point, stack, l, c.use_norm)
                return self.see(sum_point, stack, l, x)

            x = self.see('hook_resid_pre', stack, l, x)
            bare = c.ffn == 'none'  # what would stand in the middle of a block is its end
            x = around(x, 'norm1', 'ln1', lambda y: self.self_attention(y, b + 'attn', stack, l, causal, key_mask),
                       'hook_attn_out', 'hook_resid_post' if bare and memory is None else 'hook_resid_mid')
            if memory is not None:
                x = around(x, 'norm2', 'ln_cross', lambda y: self.cross_attention(y, memory, b + 'cross_attn', l, memory_mask),
                           'hook_cross_attn_out', 'hook_resid_post' if bare else 'hook_resid_mid_cross')
            if bare: continue
            x = around(x, 'norm3' if memory is not None else 'norm2', 'ln2',
                       lambda y: self.feed_forward(y, b + 'ffn', stack, l), 'hook_mlp_out', 'hook_resid_post')
        return x

    def embed(self, ids, prefix, stack):
        c, n = self.c, len(ids)
        table = self.w.get(prefix + 'embed.weight', self.w['embed.weight'])
        x = table[ids] * f32(c.embedding_scale)
        if self.fault == 'no_embedding_scale': x = table[ids]
        x = self.see('hook_embed', stack, -1, x)
        if c.use_position and c.position in ('sinusoidal', 'learned'):
            p = self.sinusoids(n) if c.position == 'sinusoidal' else self.w[prefix + 'position.weight'][:n]
            if self.fault == 'position_offset': p = (self.sinusoids(n + 1) if c.position == 'sinusoidal' else self.w[prefix + 'position.weight'])[1:n + 1]
            x = x + self.see('hook_pos_embed', stack, -1, p)
        return x

    def final(self, x, name, stack):
        if not self.c.final_norm or self.fault == 'no_final_norm': return x
        return self.norm(x, name, 'ln_final', stack, -1, self.c.use_final_norm)

    def __call__(self, ids, source=None, mask=None):
        c = self.c
        key_mask = torch.tensor(mask, dtype=torch.bool) if mask else None
        if c.kind == 'encoder':
            return self.final(self.stack(self.embed(source, '', 1), 'blocks', 1, c.n_layers, False, key_mask), 'final_norm', 1)
        if c.encoder_decoder():
            e = self.stack(self.embed(source, 'encoder.', 1), 'encoder', 1, c.n_encoder_layers, False, key_mask)
            e = self.final(e, 'encoder.final_norm', 1)
            if self.fault == 'cross_before_final_norm': e = self.points[[p[0] for p in self.points].index('ln_final.hook_normalized')][3]
            x = self.stack(self.embed(ids, '', 0), 'decoder', 0, c.n_layers, bool(c.causal), None, e, key_mask)
        else:
            x = self.stack(self.embed(ids, '', 0), 'blocks', 0, c.n_layers, bool(c.causal), None)
        x = self.final(x, 'final_norm', 0)
        tied = bool(c.tie_word_embeddings) != (self.fault == 'tie_other')
        head = self.w['embed.weight'] if tied else self.w['head.weight']
        y = self.multiply(x, head)
        return y + self.w['head.bias'] if c.bias_head else y


# ---- files -----------------------------------------------------------------------------------------------------------

class Writer:
    def __init__(self, path): self.path, self.parts = path, [b'GFGOLD1\n']
    def u32(self, *v): self.parts.append(struct.pack(f'<{len(v)}I', *v))
    def i32(self, *v): self.parts.append(struct.pack(f'<{len(v)}i', *v))
    def f32(self, v): self.parts.append(struct.pack('<f', v))
    def text(self, s): self.parts.append(struct.pack('B', len(s)) + s.encode())
    def floats(self, t): self.parts.append(t.to(torch.float32).contiguous().numpy().astype('<f4').tobytes())

    def fields(self, pairs):
        self.u32(len(pairs))
        for k, v in pairs.items():
            self.text(k)
            self.parts.append(struct.pack('<d', ENUMS[k].index(v) if k in ENUMS else v))

    def close(self):
        data = b''.join(self.parts)
        with open(self.path, 'wb') as f: f.write(data)
        return len(data)


def edits_of(points, g):
    """One change at every point there is: all kinds of operation, one head or all, one position or all."""
    out = []
    for i, (name, stack, layer, value) in enumerate(points):
        square, heads = 'scores' in name or 'pattern' in name, value.dim() == 3
        n_heads = value.shape[0 if square else 1] if heads else 0
        head = (i // 2) % n_heads if heads and i % 2 == 0 else -1
        position = 3 if i % 3 == 0 or name.endswith('_k') else -1  # one key: the same added to all of them cancels out
        op = i % 5 % 3
        width = 3 if square else value.shape[-1]
        if name.endswith('scale'): values, op = [1.5], (op or 1)
        elif name.endswith('hook_attn_scores'): values, op = [0.5, -0.75, 0.25], 2  # what is hidden stays hidden
        elif i % 4 == 1: values = [0.25]
        else: values = torch.randn(width, generator=g).tolist()
        out.append((name, stack, layer, head, position, op, 0.0 if op == 0 and i % 2 else -1.25, values if op else []))
    return out


def write(name, config, runs, seed, embed_std=0.5, exact=None, int8=False):
    c = Config({**DEFAULTS, **config})
    weights = draw(c, seed, embed_std, exact)
    g = torch.Generator().manual_seed(seed + 1)
    w = Writer(os.path.join(HERE, 'models', name + '.gold'))
    w.text(name)
    w.fields(config)
    w.u32(len(weights))
    for key, t in weights.items():
        rows, cols = (1, t.shape[0]) if t.dim() == 1 else t.shape
        w.text(key)
        w.u32(t.dim(), rows, cols)
        w.floats(t)
    w.u32(len(runs))
    for run in runs:
        cc = Config({**c, **run.get('change', {})})
        ids = torch.randint(0, c.vocab_size, (run.get('n', 0),), generator=g).tolist()
        source = torch.randint(0, c.vocab_size, (run.get('n_source', 0),), generator=g).tolist()
        mask = run.get('mask', [])
        args = (ids, source or None, mask or None)
        p = Run(cc, weights, int8=int8)
        out = p(*args)
        tolerance = 2e-4
        if int8:  # a value on the edge between two integers may fall either way: how far can that carry?
            tolerance += 2 * max(float((Run(cc, weights, int8=True, jitter=1e-6, seed=s)(*args) - out).abs().max()) for s in range(40))
        w.text(run['name'])
        w.fields(run.get('change', {}))
        w.u32(len(ids)); w.i32(*ids)
        w.u32(len(source)); w.i32(*source)
        w.u32(len(mask)); w.parts.append(bytes(mask))
        keep = run.get('points')
        points = [x for x in p.points if keep is None or x[0] in keep]
        w.u32(keep is None)
        w.f32(tolerance)
        w.u32(*out.shape)
        w.floats(out)
        w.u32(len(points))
        for point, stack, layer, value in points:
            w.text(point)
            w.i32(stack, layer)
            w.u32(*(list(value.shape) + [1, 1])[:3])
            w.floats(value)
        decoys = run.get('decoys', [])
        w.u32(len(decoys))
        far = []
        for fault in decoys:
            y = Run(cc, weights, fault=fault, int8=int8)(*args)
            far.append(float((y - out).abs().max()))
            w.text(fault)
            w.floats(y)
        edits = edits_of(p.points, g) if run.get('edits') else []
        w.u32(len(edits))
        for edit in edits:
            y = Run(cc, weights, edit=edit)(*args)
            assert float((y - out).abs().max()) > 4 * tolerance, f'{edit[:6]} changes nothing'
            w.text(edit[0])
            w.i32(*edit[1:6])
            w.f32(edit[6])
            w.u32(len(edit[7]))
            w.floats(torch.tensor(edit[7]))
            w.floats(y)
        print(f'  {name}/{run["name"]}: |output| <= {float(out.abs().max()):.3f}, tolerance {tolerance:.1e}; '
              + ', '.join(f'{f} {d:.1e}' for f, d in zip(decoys, far)))
        assert all(d > 4 * tolerance for d in far), 'a decoy is too close to be told apart'
    return w.close()


SEEN = ('hook_resid_post', 'attn.hook_pattern')
ALL_OFF = [dict(name=f'without {k}', change={k: 0}, n=9, points=SEEN)
           for k in ('causal', 'scale_scores', 'use_position', 'use_residual', 'use_norm', 'use_final_norm')]
MODERN = ['eps_outside', 'norm_other', 'pre_post', 'rope_pairs', 'rope_offset', 'gate_for_up', 'down_transposed']


def main():
    os.makedirs(os.path.join(HERE, 'models'), exist_ok=True)
    total = 0

    def model(name, seed, runs, embed_std=0.5, exact=None, int8=False, **config):
        nonlocal total
        base = dict(vocab_size=41, d_model=24, n_layers=2, n_heads=3, n_kv_heads=3, d_head=8, d_ff=40, context_length=96)
        total += write(name, {**base, **config}, runs, seed, embed_std, exact, int8)

    # Small embeddings, so that the first norm's epsilon weighs as much as its mean square.
    model('modern_untied_gqa', 11, [dict(name='full', n=10, decoys=MODERN + ['tie_other', 'gqa_interleaved'])], embed_std=0.004,
          n_heads=4, n_kv_heads=2, d_head=6, tie_word_embeddings=0, rope_theta=500.0, norm_eps=1e-5)
    model('modern_tied', 12, [dict(name='full', n=11, edits=1, decoys=[f for f in MODERN if f != 'eps_outside'])] + ALL_OFF,
          norm_eps=1e-6, exact='bf16')
    model('rope_adjacent_mqa', 13, [dict(name='full', n=9, decoys=['rope_pairs', 'no_rope_scaling', 'no_embedding_scale'])],
          n_heads=4, n_kv_heads=1, d_head=6, rope_pairs='adjacent', rope_scaling='linear', rope_factor=2.0,
          embedding_scale=f32(math.sqrt(24)), embed_std=0.2)
    model('rope_llama3', 14, [dict(name='long', n=71, points=('hook_resid_post',), decoys=['no_rope_scaling', 'llama3_as_linear']),
                              dict(name='full', n=8, decoys=['rope_offset'])],
          d_model=20, n_heads=3, n_kv_heads=1, d_head=10, d_ff=30, rope_theta=500.0, rope_scaling='llama3', rope_factor=8.0,
          rope_original_context=32)
    model('qk_norm', 15, [dict(name='full', n=10, decoys=['no_qk_norm', 'rope_pairs'])],
          d_model=20, n_heads=4, n_kv_heads=2, d_head=12, d_ff=28, qk_norm=1, rope_theta=1e6, norm_eps=1e-6)
    model('sliding_window', 16, [dict(name='full', n=12, decoys=['window_off_by_one']),
                                 dict(name='long', n=75, points=('hook_resid_post',), decoys=['window_off_by_one'])],
          n_heads=4, n_kv_heads=2, d_head=6, sliding_window=5, tie_word_embeddings=0, context_length=128)
    model('swiglu_biases', 17, [dict(name='full', n=9, decoys=['gate_for_up'])],
          bias_qkv=1, bias_attn_out=1, bias_ffn=1, bias_head=1, tie_word_embeddings=0, d_ff=24)
    model('qkv_bias', 18, [dict(name='full', n=7, decoys=['rope_pairs'])], n_layers=1, n_kv_heads=1, bias_qkv=1, rope_theta=1e6)
    model('gpt2', 19, [dict(name='full', n=11, decoys=['gelu_other', 'norm_other', 'pre_post', 'down_transposed', 'position_offset',
                                                       'no_final_norm'])]
          + [r for r in ALL_OFF if r['name'] in ('without use_position', 'without use_norm')], exact='bf16',
          d_model=21, d_head=7, d_ff=84, norm='layernorm', norm_eps=1e-5, ffn='gelu_tanh', position='learned', bias_qkv=1,
          bias_attn_out=1, bias_ffn=1)
    model('plain_gpt', 20, [dict(name='full', n=10, decoys=['gelu_other', 'norm_other'])],
          d_head=9, d_ff=96, norm='layernorm', bias_norm=0, ffn='gelu_erf', position='learned')
    model('tiny_block', 21, [dict(name='full', n=9, decoys=['eps_outside', 'tie_other'])], embed_std=0.004, n_layers=1,
          d_model=16, n_heads=4, n_kv_heads=4, d_head=4, d_ff=64, norm='layernorm', ffn='gelu_erf', position='none',
          tie_word_embeddings=0)
    model('classic_post_norm', 22, [dict(name='full', n=10, edits=1, decoys=['pre_post', 'gelu_other', 'position_offset', 'no_final_norm'])]
          + [r for r in ALL_OFF if r['name'] in ('without use_position', 'without use_residual', 'without use_norm')],
          d_model=21, d_head=7, d_ff=50, norm='layernorm', norm_placement='post', ffn='gelu_erf', position='sinusoidal',
          tie_word_embeddings=0, bias_qkv=1, bias_attn_out=1, bias_ffn=1)
    model('post_norm_bare', 23, [dict(name='full', n=10, decoys=['pre_post', 'norm_other'])],
          d_head=5, d_ff=33, norm_placement='post', final_norm=0, ffn='relu', position='none')
    # two layers of heads, and nothing else (Elhage et al. 2021)
    model('attention_only', 24, [dict(name='full', n=8, edits=1, decoys=['tie_other', 'position_offset'])], n_layers=2, d_model=16, n_heads=2,
          n_kv_heads=2, d_ff=0, ffn='none', norm='none', final_norm=0, position='learned', tie_word_embeddings=0)
    # of three groups of two heads the last one does not rotate
    model('rotary_kv_heads', 25, [dict(name='full', n=10, edits=1, decoys=['rope_every_head', 'rope_last_heads', 'rope_as_many_queries', 'rope_offset'])],
          n_layers=1, n_heads=6, n_kv_heads=3, d_head=6, d_ff=20, rotary_kv_heads=2, rope_theta=100.0)
    # encoder-decoders
    pad = [1] * 6 + [0, 0, 0]
    two = dict(kind='encoder_decoder', n_encoder_layers=2)
    model('encoder_decoder_2017', 31, [dict(name='full', n=7, n_source=9, mask=pad, decoys=['mask_ignored', 'pre_post', 'position_offset']),
                                       dict(name='without causal', change=dict(causal=0), n=6, n_source=7, points=SEEN)],
          **two, d_model=20, n_heads=4, n_kv_heads=4, d_head=5, d_ff=36, norm='layernorm', norm_placement='post', final_norm=0,
          ffn='relu', position='sinusoidal', bias_qkv=1, bias_attn_out=1, bias_ffn=1, bias_head=1, tie_word_embeddings=0)
    model('encoder_decoder_modern', 32, [dict(name='full', n=8, n_source=7, mask=[0, 1, 1, 1, 0, 1, 1], edits=1,
                                              decoys=['mask_ignored', 'cross_before_final_norm', 'rope_offset', 'gqa_interleaved'])],
          kind='encoder_decoder', n_encoder_layers=1, n_heads=4, n_kv_heads=2, d_head=6, d_ff=32, shared_embedding=0, qk_norm=1)
    model('encoder_decoder_learned', 33, [dict(name='full', n=6, n_source=9)], **{**two, 'n_layers': 1},
          norm='layernorm', ffn='gelu_tanh', position='learned', context_length=72, bias_norm=0)
    model('encoder_decoder_attention', 34, [dict(name='full', n=5, n_source=6, decoys=['pre_post'])], **{**two, 'n_layers': 1},
          d_model=16, n_heads=2, n_kv_heads=2, d_ff=0, ffn='none', norm_placement='post', final_norm=0)
    model('encoder_decoder_heads', 35, [dict(name='full', n=6, n_source=7, mask=[1, 1, 1, 1, 1, 0, 1], edits=1, decoys=['decoder_heads', 'mask_ignored'])],
          **{**two, 'n_layers': 1}, n_heads=2, n_kv_heads=2, d_head=12, n_encoder_heads=6, ffn='relu', position='learned', context_length=72)
    # encoders
    model('encoder_learned', 41, [dict(name='full', n_source=10, mask=[1] * 7 + [0] * 3, decoys=['mask_ignored', 'pre_post'])],
          kind='encoder', norm='layernorm', ffn='gelu_erf', position='learned', bias_qkv=1, bias_attn_out=1, bias_ffn=1,
          context_length=40)
    model('encoder_post_norm', 42, [dict(name='full', n_source=9, decoys=['rope_pairs'])], n_layers=1,
          kind='encoder', norm_placement='post', final_norm=0, d_ff=20)
    # weights that block formats hold exactly; the output is that of int8 activations
    for i, kind in enumerate(('q8_0', 'q4_0', 'q4_1')):
        model(kind, (62, 52, 53)[i], [dict(name=kind, n=9, points=(), decoys=['rope_pairs', 'gate_for_up'])], exact=kind, int8=True, d_model=32, n_heads=4, n_kv_heads=2, d_head=8,
              d_ff=64, tie_word_embeddings=i != 1, n_layers=1 + (i == 0))
    print(f'{total} bytes')


main()
