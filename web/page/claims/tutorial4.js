// claims/tutorial4.js - "Transformer_Forward_Pass": GPT-2's forward pass as PicoGPT computes it, and the four sizes.

import {
  atMost,
  count,
  distance,
  ids,
  plus,
  refusal,
  rms,
  rows,
  same,
  shapeText,
  shown,
  softmax,
  sum,
  text,
  using,
  written,
} from './check.js';
import { asSource, gpt2 as checkpoint } from './files.js';
import { activations, flat, gpt2 } from './reference.js';

/** @typedef {import('./check.js').Claim} Claim */

/** n_layer, n_head, n_embd, and what they add up to. */
const SIZES = /** @type {[string, string, number, number, number, number][]} */ ([
  ['124M', 'gpt2', 12, 12, 768, 124439808],
  ['355M', 'gpt2-medium', 24, 16, 1024, 354823168],
  ['774M', 'gpt2-large', 36, 20, 1280, 774030080],
  ['1558M', 'gpt2-xl', 48, 25, 1600, 1557611200],
]);
const TINY = {
  vocab_size: 64,
  d_model: 32,
  n_layers: 2,
  n_heads: 4,
  context_length: 32,
  norm: 'layernorm',
  ffn: 'gelu_tanh',
  position: 'learned',
  bias_qkv: true,
  bias_attn_out: true,
  bias_ffn: true,
};
const WORDS = ids(12, 48, 3),
  T = WORDS.length,
  V = 48,
  D = 16,
  H = 2;

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
const claim = (id, words, run) => ({ id: `4-${id}`, tutorial: 4, text: words, run });

/**
 * One pass of the small GPT-2 with what is asked for.
 * @param {(c: Record<string, any>, logits: any, weights: any, model: any) => any} use
 */
const pass = (glassformer, capture, use) => {
  const made = checkpoint();
  return using(glassformer.load(asSource(made)), async (model) => {
    const { logits, captured } = await model.forward(WORDS, { capture });
    return use(captured, logits, made.weights, model);
  });
};

/** @type {Claim[]} */
export const claims = [
  ...SIZES.map(([name, preset, layers, heads, width, total]) =>
    claim(
      `size-${name}`,
      `GPT-2 ${name}: ${layers} layers, ${heads} heads, width ${width}, vocabulary 50,257, context 1,024`,
      (g) => {
        const p = g.PRESETS[preset],
          sizes = [p.n_layers, p.n_heads, p.d_model, p.vocab_size, p.context_length];
        const found = g.countParameters(preset).total;
        return shown(
          sizes.join() === [layers, heads, width, 50257, 1024].join() && found === total,
          `${text(total)} parameters`,
          `${text(found)} parameters`,
          `Sizes as the preset has them: ${sizes.map(text).join(', ')}.`,
        );
      },
    ),
  ),
  claim('hidden', 'The FFN’s hidden dimension is 4 times the embedding’s, at every size', (g) =>
    same(
      '4, 4, 4, 4',
      SIZES.map(([, preset]) => {
        const [rowsUp, columns] = /** @type {any} */ (
          g.countParameters(preset).rows.find((r) => r.name === 'blocks.0.ffn.up.weight')
        ).shape;
        return rowsUp / columns;
      }).join(', '),
    ),
  ),
  claim('reference', 'A file with GPT-2’s names gives the logits of this forward pass in double precision', (g) => {
    const made = checkpoint();
    return using(g.load(asSource(made)), async (model) =>
      atMost(1e-4, distance((await model.forward(WORDS)).logits.data, flat(gpt2(made.weights, made.config, WORDS)))),
    );
  }),
  claim('shapes', '[n_seq] ids become [n_seq, n_embd], stay so through every block, and end as [n_seq, n_vocab]', (g) =>
    pass(g, ['hook_embed', '*.hook_resid_post'], (c, logits) =>
      same(
        '(12, 16), (12, 16), (12, 16), (12, 48)',
        [c.hook_embed, c['blocks.0.hook_resid_post'], c['blocks.1.hook_resid_post'], logits]
          .map((t) => shapeText(t.shape))
          .join(', '),
      ),
    ),
  ),
  claim('embedding', 'The input is the sum of token and position embedding', (g) =>
    pass(g, ['blocks.0.hook_resid_pre'], (c, _, w) => {
      const want = WORDS.flatMap((id, t) =>
        Array.from({ length: D }, (_, j) => w['wte.weight'].data[id * D + j] + w['wpe.weight'].data[t * D + j]),
      );
      return atMost(1e-6, distance(c['blocks.0.hook_resid_pre'].data, want));
    }),
  ),
  claim('scores', 'Scores are Q Kᵀ / √d_k, plus a mask of −∞ for later positions and 0 for earlier ones', (g) =>
    pass(g, ['blocks.0.attn.hook_q', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_attn_scores'], (c) => {
      const q = c['blocks.0.attn.hook_q'].data,
        k = c['blocks.0.attn.hook_k'].data,
        s = c['blocks.0.attn.hook_attn_scores'].data,
        d = D / H;
      let off = 0,
        masked = 0,
        open = 0;
      for (let h = 0; h < H; h++)
        for (let i = 0; i < T; i++)
          for (let j = 0; j < T; j++) {
            const got = s[(h * T + i) * T + j];
            if (j > i) {
              masked += Number(got === -Infinity);
              continue;
            }
            open++;
            let dot = 0;
            for (let n = 0; n < d; n++) dot += q[(i * H + h) * d + n] * k[(j * H + h) * d + n];
            off = Math.max(off, Math.abs(got - dot / Math.sqrt(d)));
          }
      return shown(
        off < 1e-5 && masked === (H * T * (T - 1)) / 2,
        `${(H * T * (T - 1)) / 2} masked, ${open} others within 0.00001`,
        `${masked} masked, ${open} others within ${text(off)}`,
      );
    }),
  ),
  claim('pattern', 'Their softmax: each row sums to 1, later positions get exactly 0', (g) =>
    pass(g, ['blocks.*.attn.hook_attn_scores', 'blocks.*.attn.hook_pattern'], (c) => {
      let off = 0,
        sums = 0,
        later = 0;
      for (const l of [0, 1]) {
        const scores = rows(c[`blocks.${l}.attn.hook_attn_scores`]);
        rows(c[`blocks.${l}.attn.hook_pattern`]).forEach((p, i) => {
          off = Math.max(off, distance(p, softmax(scores[i])));
          sums = Math.max(sums, Math.abs(sum(p) - 1));
          later = Math.max(later, 0, ...p.subarray((i % T) + 1));
        });
      }
      return shown(
        off < 1e-6 && sums < 1e-5 && later === 0,
        'sums 1 ± 0.00001, later 0',
        `sums 1 ± ${text(sums)}, later ${text(later)}`,
        `Each weight within ${text(off)} of softmax in double precision.`,
      );
    }),
  ),
  claim('values', 'Each head’s output is its pattern times V', (g) =>
    pass(g, ['blocks.1.attn.hook_v', 'blocks.1.attn.hook_pattern', 'blocks.1.attn.hook_z'], (c) => {
      const p = c['blocks.1.attn.hook_pattern'].data,
        v = c['blocks.1.attn.hook_v'].data,
        d = D / H;
      const want = Float64Array.from({ length: T * D }, (_, at) => {
        const i = Math.floor(at / D),
          h = Math.floor((at % D) / d),
          n = at % d;
        let s = 0;
        for (let j = 0; j < T; j++) s += p[(h * T + i) * T + j] * v[(j * H + h) * d + n];
        return s;
      });
      return atMost(1e-5, distance(c['blocks.1.attn.hook_z'].data, want));
    }),
  ),
  claim('concat', 'The heads side by side, times W^O, are what attention writes', (g) =>
    pass(g, ['blocks.1.attn.hook_z', 'blocks.1.hook_attn_out'], (c, _, w) => {
      const o = w['h.1.attn.c_proj.weight'].data,
        b = w['h.1.attn.c_proj.bias'].data;
      const want = rows({ data: c['blocks.1.attn.hook_z'].data, shape: [T, D] }).flatMap((z) =>
        Array.from(b, (bias, r) => bias + z.reduce((s, v, i) => s + v * o[i * D + r], 0)),
      );
      return atMost(1e-5, distance(c['blocks.1.hook_attn_out'].data, want));
    }),
  ),
  claim('residuals', 'Each block adds attention and then the FFN to the stream', (g) =>
    pass(g, ['*.hook_resid_*', '*.hook_attn_out', '*.hook_mlp_out'], (c) =>
      atMost(
        1e-5,
        Math.max(
          ...[0, 1].map((l) =>
            distance(
              c[`blocks.${l}.hook_resid_post`].data,
              plus(
                c[`blocks.${l}.hook_resid_pre`].data,
                c[`blocks.${l}.hook_attn_out`].data,
                c[`blocks.${l}.hook_mlp_out`].data,
              ),
            ),
          ),
        ),
      ),
    ),
  ),
  claim('ffn', 'FFN(x) = GELU(x W₁ + b₁) W₂ + b₂', (g) =>
    pass(g, ['blocks.0.mlp.*', 'blocks.0.hook_mlp_out'], (c, _, w) => {
      const two = w['h.0.mlp.c_proj.weight'].data,
        b = w['h.0.mlp.c_proj.bias'].data;
      const hidden = rows(c['blocks.0.mlp.hook_pre']).map((r) => Array.from(r, activations.gelu_tanh));
      const want = hidden.flatMap((x) =>
        Array.from(b, (bias, r) => bias + x.reduce((s, v, i) => s + v * two[i * D + r], 0)),
      );
      return atMost(1e-5, distance(c['blocks.0.hook_mlp_out'].data, want));
    }),
  ),
  claim('gelu', 'GELU is the tanh form with 0.044715, which is not quite the erf form', (g) =>
    using(g.create(TINY, { seed: 1 }), async (model) => {
      const set = Float32Array.from({ length: 128 }, (_, i) => i / 10 - 6.4);
      const { captured } = await model.forward([1], {
        capture: ['blocks.0.mlp.hook_post'],
        edits: [{ at: 'blocks.0.mlp.hook_pre', set }],
      });
      const got = captured['blocks.0.mlp.hook_post'].data,
        own = distance(got, set.map(activations.gelu_tanh)),
        other = distance(got, set.map(activations.gelu_erf));
      return shown(
        own < 2e-6 && other > 4e-4 && other < 6e-4,
        'tanh form: under 0.000002; erf form: 0.0004 to 0.0006',
        `tanh form: ${text(own)}; erf form: ${text(other)}`,
        'Largest distance of the engine’s curve from either, from −6.4 to 6.3.',
      );
    }),
  ),
  claim('causal', 'Causal: no position can attend to a later one, so a later token changes nothing before it', (g) =>
    using(g.load(asSource(checkpoint())), async (model) => {
      const other = [...WORDS];
      other[8] = (other[8] + 1) % V;
      const [a, b] = [(await model.forward(WORDS)).logits.data, (await model.forward(other)).logits.data];
      const before = distance(a.subarray(0, 8 * V), b.subarray(0, 8 * V)),
        after = distance(a.subarray(8 * V), b.subarray(8 * V));
      return shown(
        before === 0 && after > 0.01,
        'before it 0, from it on over 0.01',
        `before it ${text(before)}, from it on ${text(after)}`,
        'The ninth of twelve tokens exchanged.',
      );
    }),
  ),
  claim('tied', 'Logits are the normed stream times the transposed token embedding', (g) =>
    pass(g, ['ln_final.hook_normalized'], (c, logits, w) => {
      const gain = w['ln_f.weight'].data,
        shift = w['ln_f.bias'].data,
        e = w['wte.weight'].data;
      const want = rows(c['ln_final.hook_normalized']).flatMap((x) =>
        Array.from({ length: V }, (_, id) => x.reduce((s, v, i) => s + (v * gain[i] + shift[i]) * e[id * D + i], 0)),
      );
      return atMost(1e-4, distance(logits.data, want));
    }),
  ),
  claim('tied-free', 'The tied head costs no parameter', (g) => same(0, count(g.countParameters('gpt2'), 'head'))),
  claim('distributions', 'The output is a probability distribution over the vocabulary at each position', (g) =>
    pass(g, [], async (_, logits, __, model) => {
      const each = await Promise.all(rows(logits).map((r) => model.distribution(r, {})));
      const off = Math.max(
        ...each.map((p, i) => Math.max(Math.abs(sum(p) - 1), distance(p, softmax(rows(logits)[i])))),
      );
      return shown(
        each.length === T && off < 1e-5 && rms(logits.data) > 0.1,
        '12 that sum to 1 ± 0.00001',
        `${each.length} that sum to 1 ± ${text(off)}`,
      );
    }),
  ),
  claim('generation', 'Generation feeds on the forward pass: each greedy token is its likeliest', (g) =>
    using(g.load(asSource(checkpoint())), async (model) => {
      const made = (await written(model.generate(WORDS.slice(0, 5), { maxTokens: 6, temperature: 0, ignoreEos: true })))
          .ids,
        all = [...WORDS.slice(0, 5), ...made];
      const likeliest = rows((await model.forward(all)).logits)
        .map((r) => r.indexOf(Math.max(...r)))
        .slice(4, -1);
      return same(likeliest.join(' '), made.join(' '));
    }),
  ),
  claim('context', 'No more positions than n_ctx: a longer input is refused', (g) =>
    using(g.create(TINY, { seed: 1 }), async (model) => {
      const fits = await refusal(() => model.forward(ids(32, 64)).then(() => null)),
        longer = await refusal(() => model.forward(ids(33, 64)).then(() => null));
      return shown(
        fits === '' && longer.includes('33') && longer.includes('32'),
        '32 fit, 33 are refused',
        `32 ${fits ? 'are refused' : 'fit'}, 33 ${longer ? 'are refused' : 'fit'}`,
        longer ? `“${longer}”` : undefined,
      );
    }),
  ),
];
