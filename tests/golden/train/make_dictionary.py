"""make_dictionary.py - what tests/native/dictionary_test.c expects, by PyTorch's autograd in double precision.

    python3 tests/golden/train/make_dictionary.py      torch 2.15.0

The model (Gao et al. 2024), the loss and PyTorch's gradients are written here independently; random numbers are those of
tests/golden/normal.py. Adam is torch.optim.Adam, with a rate of its own for each weight.
"""
import contextlib
import io
import math
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
with contextlib.redirect_stdout(io.StringIO()):
    from normal import normal, seeded, u64
torch.set_default_dtype(torch.float64)

ROWS, IN, OUT, VOCAB, SIZE, K, BATCH, STEPS, LR, DECAY, SEED = 200, 8, 6, 5, 24, 3, 40, 30, 0.01, 0.3, 7


def numbers(n, state):
    out = []
    for _ in range(n):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        out.append((state >> 8) / 4194304 - 1)
    return torch.tensor(out)


def tabled(x, tokens):
    mean = x.mean(0)
    table = torch.stack([mean + (x[tokens == t] - mean).sum(0) / ((tokens == t).sum() + 1) for t in range(VOCAB)])
    return x - table[tokens], table


def run(name, table, target):
    x, y, tokens = numbers(ROWS * IN, 1).view(ROWS, IN), numbers(ROWS * OUT, 2).view(ROWS, OUT), torch.arange(ROWS) % VOCAB
    x += 0.5 * torch.sin(tokens[:, None] + torch.arange(IN))
    y = y if target else x
    variance = ((y - y.mean(0)) ** 2).sum(1).mean()
    sums = [torch.zeros(())]
    if table:
        tokens = torch.where(tokens == 4, 3, tokens)  # the last token has no row
        (x, means), y = tabled(x, tokens), tabled(y, tokens)[0] if target else None
        sums = [means.sum()]
        y = x if y is None else y
    scale_in, scale_out = [((v - v.mean(0)) ** 2).mean().sqrt() for v in (x, y)]
    rng = seeded(SEED)
    dec = torch.tensor([[normal_of(rng) for _ in range(y.shape[1])] for _ in range(SIZE)])
    dec /= dec.norm(dim=1, keepdim=True)
    enc = dec.clone()
    if target:
        enc = torch.tensor([[normal_of(rng) for _ in range(IN)] for _ in range(SIZE)])
        enc *= scale_out / scale_in / enc.norm(dim=1, keepdim=True)
    weights = [enc, -enc @ x.mean(0), dec, y.mean(0).clone()]
    for w in weights:
        w.requires_grad_()
    rates = [scale_out / scale_in, scale_out, 1, scale_out]
    adam = torch.optim.Adam([{'params': [w], 'lr': LR} for w in weights], betas=(0.9, 0.999), eps=1e-10)
    order, at = list(range(ROWS)), ROWS
    for step in range(STEPS):
        if at + BATCH > ROWS:
            for i in range(ROWS - 1, 0, -1):
                j = u64(rng) % (i + 1)
                order[i], order[j] = order[j], order[i]
            at = 0
        rows, at = order[at:at + BATCH], at + BATCH
        values, index = (x[rows] @ weights[0].T + weights[1]).topk(K)
        z = torch.zeros(BATCH, SIZE).scatter(1, index, values.relu())
        error = ((z @ weights[2] + weights[3] - y[rows]) ** 2).sum(1)
        adam.zero_grad()
        (error.mean() / 2).backward()
        along = (weights[2].grad * weights[2]).sum(1, keepdim=True)
        weights[2].grad -= along.detach() * weights[2].detach()
        left = min(1, (STEPS - step) / (DECAY * STEPS))
        for group, rate in zip(adam.param_groups, rates):
            group['lr'] = float(LR * rate * left)
        adam.step()
        with torch.no_grad():
            weights[2] /= weights[2].norm(dim=1, keepdim=True)
        if step in (0, STEPS - 1):
            sums += [error.mean() / variance, (z > 0).sum(1).double().mean()]
    checks = [(w * torch.cos(torch.arange(w.numel()).view(w.shape))).sum() for w in weights]
    print(f'    {{"{name}", {int(table)}, {int(target)}, {{{", ".join(repr(round(s.item(), 9)) for s in sums + checks)}}}}},')


def normal_of(rng):
    return normal(rng)[0]


for case in (('no table', False, False), ('a table', True, False), ('a transcoder', False, True),
             ('a transcoder with tables', True, True)):
    run(*case)
