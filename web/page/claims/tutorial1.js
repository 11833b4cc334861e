// claims/tutorial1.js - V. Sousa, "Building a Transformer: The Complete Forward Pass" (2026): the modern decoder and
// its classical variants, generation with a kv cache, and the parameters of a 123.6M model.

import {
  atMost,
  block,
  count,
  distance,
  entropy,
  ids,
  loss,
  mean,
  minus,
  near,
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
  variance,
  written,
} from './check.js';
import { asSource, nudged, safetensors, tutorial1, tutorial1Classical } from './files.js';
import { decoder, flat } from './reference.js';

/** @typedef {import('./check.js').Claim} Claim */

const MODERN = 'modern-124m',
  UNTIED = 'modern-124m-untied';
const TINY = { vocab_size: 64, d_model: 32, n_layers: 2, n_heads: 4, d_ff: 96, context_length: 64, norm_eps: 1e-6 };
const POST = { ...TINY, norm: 'layernorm', norm_placement: 'post', final_norm: true };
const WORDS = ids(12, 48, 3);

/** @type {(id: string, text: string, run: Claim['run']) => Claim} */
const claim = (id, words, run) => ({ id: `1-${id}`, tutorial: 1, text: words, run });

/** A change of 1 % in the stream's length at the first block, as it arrives behind the last one. */
const arriving = (glassformer, config, scale = 50) =>
  using(glassformer.create(config, { seed: 5 }), async (model) => {
    const first = 'blocks.0.hook_resid_pre',
      last = `blocks.${config.n_layers - 1}.hook_resid_post`;
    const run = async (by) =>
      (await model.forward(ids(8, 64), { capture: [first, last], edits: [{ at: 'hook_embed', scale: by }] })).captured;
    const [before, after] = [await run(scale), await run(scale * 1.01)];
    return rms(minus(after[last].data, before[last].data)) / rms(minus(after[first].data, before[first].data));
  });

/** Logits of a checkpoint by the engine and by the tutorial's arithmetic. */
const against = (glassformer, made, note) =>
  using(glassformer.load(asSource(made)), async (model) => {
    const { logits } = await model.forward(WORDS);
    return atMost(1e-4, distance(logits.data, flat(decoder(made.weights, made.config, WORDS))), note);
  });

/** @type {Claim[]} */
export const claims = [
  // -- section 7: every row of its table of parameters
  claim('embedding', 'Token embedding of the 123.6M model, 50,257 × 768', (g) =>
    same(38597376, count(g.countParameters(MODERN), 'embedding')),
  ),
  claim('attention', 'Attention of one block: four matrices of 768 × 768', (g) =>
    same(2359296, count(g.countParameters(MODERN), 'attention', 0)),
  ),
  claim('ffn', 'SwiGLU of one block: three matrices of 768 × 2048', (g) =>
    same(4718592, count(g.countParameters(MODERN), 'ffn', 0)),
  ),
  claim('norms', 'Two RMSNorms of one block', (g) => same(1536, count(g.countParameters(MODERN), 'norm', 0))),
  claim('block', 'One block', (g) => same(7079424, block(g.countParameters(MODERN)))),
  claim('blocks', 'All twelve blocks', (g) =>
    same(
      84953088,
      sum(
        g
          .countParameters(MODERN)
          .rows.filter((r) => r.layer !== null)
          .map((r) => r.count),
      ),
    ),
  ),
  claim('final-norm', 'The final norm', (g) => same(768, count(g.countParameters(MODERN), 'final_norm'))),
  claim('non-embedding', 'Parameters without the embedding', (g) =>
    same(84953856, g.countParameters(MODERN).nonEmbedding),
  ),
  claim('tied', 'Total with a tied head', (g) => same(123551232, g.countParameters(MODERN).total)),
  claim('untied', 'Total with a head of its own', (g) => same(162148608, g.countParameters(UNTIED).total)),
  claim('ffn-twice', 'The FFN has twice the parameters of attention in every block', (g) => {
    const t = g.countParameters(MODERN);
    return same(
      '2 in all 12 blocks',
      `${[...new Set(Array.from({ length: 12 }, (_, l) => count(t, 'ffn', l) / count(t, 'attention', l)))].join(', ')} in all 12 blocks`,
    );
  }),
  claim('tying-saves', 'Tying is worth 38.6M parameters, some 24 % of what the untied model has', (g) => {
    const saved = g.countParameters(UNTIED).total - g.countParameters(MODERN).total,
      share = (100 * saved) / g.countParameters(UNTIED).total;
    return shown(
      saved === 38597376 && Math.round(share) === 24,
      '38,597,376, about 24 %',
      `${text(saved)}, ${share.toFixed(1)} %`,
    );
  }),

  // -- the model itself
  claim(
    'tied-zero',
    'A tied head adds nothing and reads the very same matrix; an untied one has more parameters',
    async (g) => {
      const [tied, untied] = [g.countParameters(TINY), g.countParameters({ ...TINY, tie_word_embeddings: false })];
      return using(g.create(TINY, { seed: 2 }), async (model) => {
        const head = model.parameters.rows.find((r) => r.component === 'head');
        const own = sum(model.parameters.rows.map((r) => r.memoryBytes ?? 0));
        const { logits, captured } = await model.forward([7], { capture: ['ln_final.hook_normalized'] });
        const gain = await model.weight('final_norm.weight'),
          e = await model.weight('embed.weight', 9);
        const dot = captured['ln_final.hook_normalized'].data.reduce((s, v, i) => s + v * gain[i] * e[i], 0);
        const ok =
          head?.count === 0 &&
          head.tiedTo === 'embed.weight' &&
          untied.total - tied.total === 64 * 32 &&
          Math.abs(dot - logits.data[9]) < 1e-5 &&
          own < 4 * untied.total;
        return shown(
          ok,
          '0 parameters, shared; untied 2,048 more',
          `${text(head?.count ?? NaN)} parameters, tied to ${head?.tiedTo}; untied ${text(untied.total - tied.total)} more`,
          `One logit by hand from the embedding’s row: ${dot.toFixed(5)}, the model’s: ${logits.data[9].toFixed(5)}.`,
        );
      });
    },
  ),
  claim(
    'reference',
    'The modern decoder gives the logits of the tutorial’s arithmetic in double precision, from a file with its names',
    (g) => against(g, tutorial1()),
  ),
  claim('reference-untied', 'So does the one with a head of its own', (g) =>
    against(g, tutorial1({ tie_embeddings: false })),
  ),
  claim(
    'reference-classical',
    'Three arguments change the same class into the design of 2017: post-norm, LayerNorm and GELU give that arithmetic’s logits',
    (g) => against(g, tutorial1Classical()),
  ),
  claim(
    'classical-count',
    'The classical block with d_ff 3072 has the same attention and the same FFN budget; only the norms’ shifts come on top',
    (g) => {
      const [modern, classical] = [g.countParameters(MODERN), g.countParameters('classical-decoder')];
      return shown(
        count(classical, 'ffn', 0) === 4718592 && block(classical) - block(modern) === 1536,
        '4,718,592 in the FFN, 1,536 more in the block',
        `${text(count(classical, 'ffn', 0))} in the FFN, ${text(block(classical) - block(modern))} more in the block`,
      );
    },
  ),
  claim('shape', 'Token ids of shape (2, 10) become logits of shape (2, 10, vocabulary)', (g) =>
    using(g.create(TINY, { seed: 1 }), async (model) =>
      same([2, 10, 64], (await model.forward([ids(10, 64), ids(10, 64, 2)])).logits.shape),
    ),
  ),
  claim(
    'no-position-input',
    'With rotary positions nothing is added to the embedding: the first block reads the rows of the table',
    (g) =>
      using(g.create(TINY, { seed: 1 }), async (model) => {
        const list = ids(6, 64);
        const { captured } = await model.forward(list, { capture: ['blocks.0.hook_resid_pre'] });
        const want = Float32Array.from(
          (await Promise.all(list.map(async (id) => [...(await model.weight('embed.weight', id))]))).flat(),
        );
        const positions = count(g.countParameters(TINY), 'position');
        return shown(
          distance(captured['blocks.0.hook_resid_pre'].data, want) === 0 && positions === 0,
          'difference 0, 0 position weights',
          `difference ${text(distance(captured['blocks.0.hook_resid_pre'].data, want))}, ${positions} position weights`,
        );
      }),
  ),
  claim('one-rope-table', 'One table of sines and cosines serves all layers', async (g) => {
    const scratch = (config) =>
      using(g.create(config, { seed: 1 }), async (model) => {
        const session = await model.session();
        await session.eval([1, 2, 3]);
        const { bytes } = /** @type {any} */ (model.memory.regions.find((r) => r.name === 'scratch'));
        await session.close();
        return bytes;
      });
    const table = async (n) =>
      (await scratch({ ...TINY, n_layers: n })) - (await scratch({ ...TINY, n_layers: n, position: 'none' }));
    const [one, six] = [await table(1), await table(6)];
    return shown(
      one > 0 && one === six,
      'the same bytes with 1 layer and with 6',
      `${text(one)} bytes with 1 layer, ${text(six)} with 6`,
    );
  }),
  claim('cache-slots', 'One cache slot per layer', async (g) => {
    const bytes = (n) =>
      using(g.create({ ...TINY, n_layers: n }, { seed: 1 }), async (model) => {
        const session = await model.session();
        await session.eval([1, 2, 3]);
        return session.bytes;
      });
    const [one, two, six] = [await bytes(1), await bytes(2), await bytes(6)];
    return shown(
      one > 0 && two === 2 * one && six === 6 * one,
      '1, 2 and 6 times the cache of one layer',
      `${text(one)}, ${text(two)} and ${text(six)} bytes`,
    );
  }),

  // -- the invariant, and what breaks it
  claim('cached', 'Token by token with a cache equals one full pass', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const full = (await model.forward(WORDS)).logits,
        session = await model.session();
      let worst = 0;
      for (const [t, id] of WORDS.entries())
        worst = Math.max(worst, distance(await session.eval([id]), full.data.subarray(t * 48, (t + 1) * 48)));
      return same(
        '0, to the last bit',
        worst === 0 ? '0, to the last bit' : text(worst),
        'The tutorial allows 0.00001; here sums run in one order, so nothing is left to allow.',
      );
    }),
  ),
  claim('wrong-offset', 'A wrong rotary offset breaks that at once', (g) => {
    const made = tutorial1(),
      half = WORDS.length / 2;
    return using(g.load(asSource(made)), async (model) => {
      const session = await model.session();
      await session.eval(WORDS.slice(0, half));
      const cached = await session.eval(WORDS.slice(half));
      // new tokens counted from 0 again
      const wrong = decoder(made.weights, made.config, WORDS, { positions: WORDS.map((_, i) => i % half) })[
        WORDS.length - 1
      ];
      const right = decoder(made.weights, made.config, WORDS)[WORDS.length - 1];
      return shown(
        distance(cached, right) < 1e-4 && distance(cached, wrong) > 0.01,
        'right: under 0.0001; wrong: over 0.01',
        `right: ${text(distance(cached, right))}; wrong: ${text(distance(cached, wrong))}`,
        'Distance of the cached logits from the double-precision ones whose new tokens are counted on, and from 0 again.',
      );
    });
  }),
  claim(
    'cache-work',
    'Without a cache, 12 tokens project 1 + 2 + … + 12 positions; with one, each position once',
    (g) =>
      using(g.create(TINY, { seed: 1 }), async (model) => {
        const work = async (n) =>
          (await model.trace(ids(n, 64))).filter((r) => r.op === 'attn.qkv').reduce((s, r) => s + r.flops, 0);
        const one = await work(1);
        let naive = 0;
        for (let n = 1; n <= 12; n++) naive += (await work(n)) / one;
        return same(
          '78 against 12',
          `${text(naive)} against ${text((await work(12)) / one)}`,
          'Operations of the query, key and value projections, in units of one position.',
        );
      }),
  ),
  claim(
    'rope-offset',
    'A token behind n cached ones is rotated for position n, keys stay as they were, values are never rotated',
    (g) =>
      using(g.create(TINY, { seed: 3 }), async (model) => {
        const session = await model.session({
          capture: ['blocks.0.attn.hook_rot_k', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_v'],
        });
        const list = [5, 5, 5, 5],
          seen = [];
        for (const id of list) {
          await session.eval([id]);
          seen.push(session.captured);
        }
        const k = seen.map((c) => c['blocks.0.attn.hook_rot_k'].data),
          v = seen.map((c) => c['blocks.0.attn.hook_v'].data),
          plain = seen[0]['blocks.0.attn.hook_k'].data;
        const turned = k.map((key, t) => {
          // the same token: its key turned by t times the frequencies
          const want = Float64Array.from(plain);
          for (let h = 0; h < 4; h++)
            for (let i = 0; i < 4; i++) {
              const a = h * 8 + i,
                b = a + 4,
                angle = t * 10000 ** ((-2 * i) / 8);
              want[a] = plain[a] * Math.cos(angle) - plain[b] * Math.sin(angle);
              want[b] = plain[a] * Math.sin(angle) + plain[b] * Math.cos(angle);
            }
          return distance(key, want);
        });
        const same0 = Math.max(...v.map((x) => distance(x, v[0])));
        return shown(
          Math.max(...turned) < 1e-6 && same0 === 0 && distance(k[1], k[0]) > 1e-3,
          'keys turned by 0, 1, 2, 3 steps; values equal',
          `keys off by ${text(Math.max(...turned))}; values by ${text(same0)}`,
        );
      }),
  ),

  // -- sections 1 and 2: norms and residuals
  claim('rms-identity', 'On live activations, RMS² = variance + mean²', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const { captured } = await model.forward(WORDS, { capture: ['*.hook_resid_pre', '*.ln1.hook_scale'] });
      let worst = 0,
        largest = 0;
      for (const l of [0, 1]) {
        rows(captured[`blocks.${l}.hook_resid_pre`]).forEach((x, t) => {
          // what the engine divided by, without epsilon
          const square = captured[`blocks.${l}.ln1.hook_scale`].data[t] ** 2 - 1e-6;
          worst = Math.max(worst, Math.abs(square - variance(x) - mean(x) ** 2) / square);
          largest = Math.max(largest, mean(x) ** 2 / square);
        });
      }
      return atMost(
        1e-5,
        worst,
        `The engine’s own divisor against variance + mean² of the stream, relative. mean² is up to ${text(100 * largest)} % of it here.`,
      );
    }),
  ),
  claim(
    'rms-near-layernorm',
    'Where the mean is small, RMSNorm and LayerNorm are nearly the same; with a large mean they are not',
    (g) =>
      using(g.create(TINY, { seed: 4 }), async (model) => {
        const run = async (add) => {
          const { captured } = await model.forward([1, 2, 3], {
            capture: ['blocks.0.hook_resid_pre', 'blocks.0.ln1.hook_normalized'],
            edits: [{ at: 'hook_embed', add: new Float32Array(32).fill(add) }],
          });
          const x = rows(captured['blocks.0.hook_resid_pre'])[0],
            m = mean(x),
            s = Math.sqrt(variance(x) + 1e-6);
          return distance(
            captured['blocks.0.ln1.hook_normalized'].data.subarray(0, 32),
            x.map((v) => (v - m) / s),
          );
        };
        const [small, large] = [await run(0), await run(0.1)];
        return shown(
          small < 0.5 && large > 4 * small && large > 0.8,
          'under 0.5 for a small mean, over 0.8 for a large one',
          `${text(small)} and ${text(large)}`,
          'Largest difference of a normalised value from LayerNorm’s.',
        );
      }),
  ),
  claim('eps-inside', 'Epsilon belongs inside the square root: outside it gives other numbers', (g) => {
    const made = tutorial1({ norm_eps: 1e-3 });
    return using(g.load(asSource(made)), async (model) => {
      const got = (await model.forward(WORDS)).logits.data;
      const inside = distance(got, flat(decoder(made.weights, made.config, WORDS))),
        outside = distance(got, flat(decoder(made.weights, made.config, WORDS, { epsOutside: true })));
      return shown(
        inside < 1e-4 && outside > 1e-3,
        'inside: under 0.0001; outside: over 0.001',
        `inside: ${text(inside)}; outside: ${text(outside)}`,
        'Distance from the double-precision logits with epsilon (0.001 here, to be seen) in either place.',
      );
    });
  }),
  claim(
    'confusions',
    'The slips that shapes do not show: gate for up, the other pairing of rotary dimensions, LayerNorm for RMSNorm, post for pre',
    async (g) => {
      const made = tutorial1(),
        want = flat(decoder(made.weights, made.config, WORDS));
      const off = (config, weights) =>
        using(
          g.load(asSource({ config: { ...made.config, ...config }, weights: { ...made.weights, ...weights } })),
          async (model) => distance((await model.forward(WORDS)).logits.data, want),
        );
      const swapped = Object.fromEntries(
        [0, 1].flatMap((l) =>
          [
            ['gate', 'up'],
            ['up', 'gate'],
          ].map(([to, from]) => [`blocks.${l}.ffn.W_${to}.weight`, made.weights[`blocks.${l}.ffn.W_${from}.weight`]]),
        ),
      );
      const shifts = Object.fromEntries(
        Object.entries(made.weights)
          .filter(([name]) => name.endsWith('.gamma'))
          .map(([name, w]) => [
            name.replace('gamma', 'beta'),
            { shape: w.shape, data: new Float32Array(w.data.length) },
          ]),
      );
      const right = await off({}, {});
      const wrong = [
        await off({}, swapped),
        await off({ rope_convention: 'interleaved' }, {}),
        await off({ norm: 'layernorm' }, shifts),
        await off({ pre_norm: false }, {}),
      ];
      return shown(
        right < 1e-4 && wrong.every((d) => d > 0.01),
        'as built under 0.0001; each slip over 0.01',
        `as built ${text(right)}; slips ${wrong.map(text).join(', ')}`,
        'Distance from the logits in double precision.',
      );
    },
  ),
  claim('norm-parameters', 'RMSNorm has one vector where LayerNorm has two', (g) => {
    const [r, l] = ['rmsnorm', 'layernorm'].map((norm) => count(g.countParameters({ ...TINY, norm }), 'final_norm'));
    return same('32 and 64', `${r} and ${l}`);
  }),
  claim('pre-highway', 'Pre-norm: the stream passes the block unchanged and sublayers only add to it', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const { captured: c } = await model.forward(WORDS, {
        capture: ['*.hook_resid_*', '*.hook_attn_out', '*.hook_mlp_out'],
      });
      const worst = [0, 1].map((l) =>
        distance(
          c[`blocks.${l}.hook_resid_post`].data,
          plus(
            c[`blocks.${l}.hook_resid_pre`].data,
            c[`blocks.${l}.hook_attn_out`].data,
            c[`blocks.${l}.hook_mlp_out`].data,
          ),
        ),
      );
      return atMost(1e-5, Math.max(...worst), 'Output of each block less its input and what attention and FFN wrote.');
    }),
  ),
  claim(
    'post-highway',
    'Post-norm: the norm sits on the sum, so what leaves a block is always of length one per dimension',
    (g) =>
      using(g.create(POST, { seed: 4 }), async (model) => {
        const { captured: c } = await model.forward(ids(8, 64), {
          capture: ['*.hook_resid_post'],
          edits: [{ at: 'hook_embed', scale: 100 }],
        });
        const sizes = [0, 1].flatMap((l) => rows(c[`blocks.${l}.hook_resid_post`]).map(rms));
        return shown(
          sizes.every((s) => Math.abs(s - 1) < 1e-3),
          '1 behind every block',
          `${text(Math.min(...sizes))} to ${text(Math.max(...sizes))} behind every block`,
        );
      }),
  ),
  claim(
    'identity-path',
    'Pre-norm keeps an identity path from the first block to the last; post-norm loses it at every norm',
    async (g) => {
      const pre = await arriving(g, { ...TINY, n_layers: 6 }),
        post = await arriving(g, { ...POST, n_layers: 6 });
      return shown(
        Math.abs(pre - 1) < 0.05 && post < 0.05,
        'pre-norm: 1; post-norm: near 0',
        `pre-norm: ${text(pre)}; post-norm: ${text(post)}`,
        'The stream made 1 % longer before the first of six blocks: how much of that change is there behind the last.',
      );
    },
  ),
  claim(
    'fifty-layers',
    'Fifty layers without residuals multiply fifty small numbers; with them a change arrives whole',
    async (g) => {
      const deep = { ...TINY, d_model: 16, n_heads: 2, d_ff: 32, n_layers: 50, use_norm: false };
      const [kept, lost] = [await arriving(g, deep, 1), await arriving(g, { ...deep, use_residual: false }, 1)];
      return shown(
        Math.abs(kept - 1) < 0.05 && lost < 1e-20,
        'with residuals: 1; without: under 10⁻²⁰',
        `with residuals: ${text(kept)}; without: ${text(lost)}`,
        'Norms are off, so that only the residuals differ.',
      );
    },
  ),
  claim('same-parts', 'Pre-norm and post-norm hold the same weights and give different numbers', async (g) => {
    const [pre, post] = [{ ...POST, norm_placement: 'pre' }, POST];
    const equal = g.countParameters(pre).total === g.countParameters(post).total;
    const [a, b] = await Promise.all(
      [pre, post].map((c) => using(g.create(c, { seed: 6 }), async (m) => (await m.forward(ids(8, 64))).logits.data)),
    );
    return shown(
      equal && distance(a, b) > 0.01,
      'equal counts, different logits',
      `${equal ? 'equal' : 'unequal'} counts, logits differ by ${text(distance(a, b))}`,
    );
  }),

  // -- section 3: the FFN
  claim('swiglu-budget', 'SwiGLU at 8/3 · d_model has the budget of a plain FFN at 4 · d_model', (g) => {
    const of = (ffn, d_ff) => count(g.countParameters({ ...g.PRESETS[MODERN], ffn, d_ff }), 'ffn', 0);
    return same(of('gelu_erf', 4 * 768), of('swiglu', (8 * 768) / 3));
  }),
  claim('ffn-shapes', 'Gate and up lead from d_model to d_ff, down leads back', (g) => {
    const shapes = Object.fromEntries(
      g
        .countParameters(MODERN)
        .rows.filter((r) => r.component === 'ffn' && r.layer === 0)
        .map((r) => [r.name.split('.')[3], r.shape]),
    );
    return same(
      'gate (2048, 768), up (2048, 768), down (768, 2048)',
      ['gate', 'up', 'down'].map((n) => `${n} ${shapeText(shapes[n] ?? [])}`).join(', '),
    );
  }),
  claim('down-backwards', 'A down projection the wrong way round, the usual slip, is refused by name', async (g) => {
    const made = tutorial1(),
      name = 'blocks.1.ffn.W_down.weight',
      { shape, data } = made.weights[name];
    const why = await refusal(() =>
      g.load({
        config: made.config,
        weights: safetensors({ ...made.weights, [name]: { shape: [...shape].reverse(), data } }),
      }),
    );
    return shown(
      why.includes('W_down') && why.includes('[40, 16], expected [16, 40]'),
      'refused: [40, 16], expected [16, 40]',
      why || 'accepted',
    );
  }),
  claim('ffn-alone', 'The FFN treats each position alone; attention does not', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const run = async (edits) =>
        (await model.forward(WORDS, { capture: ['blocks.0.hook_mlp_out', 'blocks.1.hook_attn_out'], edits })).captured;
      const [a, b] = [
        await run([]),
        await run([{ at: 'blocks.0.hook_resid_mid', position: 3, add: new Float32Array(16).fill(0.5) }]),
      ];
      const moved = (name) =>
        rows(b[name])
          .map((x, t) => (distance(x, rows(a[name])[t]) > 0 ? t : -1))
          .filter((t) => t >= 0);
      const [ffn, attention] = [moved('blocks.0.hook_mlp_out'), moved('blocks.1.hook_attn_out')];
      return same(
        'FFN: 3; attention: 3, 4, 5, 6, 7, 8, 9, 10, 11',
        `FFN: ${ffn.join(', ')}; attention: ${attention.join(', ')}`,
        'Positions whose output moves when the stream at position 3 is changed.',
      );
    }),
  ),

  // -- section 6: generation
  claim('generate-shape', 'generate returns each prompt followed by its new tokens', (g) =>
    using(g.create(TINY, { seed: 8 }), async (model) => {
      const prompts = [ids(5, 64, 1), ids(5, 64, 2)];
      const { sequences } = await written(model.generate(prompts, { maxTokens: 7, temperature: 1, seed: 3 }));
      const kept = sequences.every((s, i) => s.slice(0, 5).join() === prompts[i].join());
      return same(
        '(2, 12), prompts kept',
        `${shapeText([sequences.length, sequences[0].length])}, prompts ${kept ? 'kept' : 'changed'}`,
      );
    }),
  ),
  claim('greedy', 'Greedy decoding is deterministic, and is the argmax of full passes without a cache', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const start = WORDS.slice(0, 4),
        run = async () => (await written(model.generate(start, { maxTokens: 8, temperature: 0 }))).ids;
      const [a, b] = [await run(), await run()],
        slow = [...start];
      while (slow.length < 12) {
        const { data } = (await model.forward(slow)).logits,
          last = data.subarray(data.length - 48);
        slow.push(last.indexOf(Math.max(...last)));
      }
      return shown(
        a.join() === b.join() && a.join() === slow.slice(4).join(),
        slow.slice(4).join(' '),
        a.join() === b.join() ? a.join(' ') : `${a.join(' ')} and then ${b.join(' ')}`,
      );
    }),
  ),
  claim('temperature', 'Temperature divides the logits: below 1 sharpens, above 1 flattens, 0 is the argmax', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const { data } = (await model.forward(WORDS)).logits,
        logits = data.slice(data.length - 48);
      const p = await Promise.all([0.5, 1, 2].map((temperature) => model.distribution(logits, { temperature })));
      const off = Math.max(...p.map((q, i) => distance(q, softmax(logits, [0.5, 1, 2][i])))),
        bits = p.map(entropy);
      const greedy = await model.distribution(logits, { temperature: 0 });
      const ok =
        off < 1e-6 && bits[0] < bits[1] && bits[1] < bits[2] && greedy[logits.indexOf(Math.max(...logits))] === 1;
      return shown(
        ok,
        'softmax(logits / T) within 0.000001; entropy grows with T',
        `within ${text(off)}; ${bits.map((b) => `${b.toFixed(2)} bits`).join(', ')} at T = 0.5, 1, 2`,
      );
    }),
  ),
  claim('top-k', 'Top-k keeps the k likeliest tokens and shares out their probability', (g) =>
    using(g.load(asSource(tutorial1())), async (model) => {
      const { data } = (await model.forward(WORDS)).logits,
        logits = data.slice(data.length - 48);
      const p = await model.distribution(logits, { topK: 5, temperature: 1 });
      const border = [...logits].sort((a, b) => b - a)[4];
      const want = softmax(logits.map((v) => (v < border ? -Infinity : v)));
      return shown(
        p.filter((v) => v > 0).length === 5 && distance(p, want) < 1e-6,
        '5 tokens, summing to 1',
        `${p.filter((v) => v > 0).length} tokens, summing to ${text(Number(sum(p).toFixed(6)))}`,
      );
    }),
  ),

  // -- section 8: what its tests cover besides
  claim('gradients', 'The loss depends on the embedding, on each block’s FFN and on each norm', async (g) => {
    const made = tutorial1(),
      of = (c) => using(g.load(asSource(c)), async (model) => loss((await model.forward(WORDS)).logits, WORDS));
    const truth = (c) => loss({ data: flat(decoder(c.weights, c.config, WORDS)), shape: [WORDS.length, 48] }, WORDS);
    const places = [
      ['token_emb.weight', WORDS[2] * 16],
      ...[0, 1].flatMap((l) => [
        [`blocks.${l}.norm1.gamma`, 3],
        [`blocks.${l}.norm2.gamma`, 3],
        [`blocks.${l}.ffn.W_down.weight`, 7],
      ]),
      ['final_norm.gamma', 3],
    ];
    const [base, exact] = [await of(made), truth(made)];
    const moved = await Promise.all(
      places.map(async ([name, index]) => {
        const other = nudged(made, String(name), Number(index), 0.5);
        return { name, found: (await of(other)) - base, want: truth(other) - exact };
      }),
    );
    const off = Math.max(...moved.map((m) => Math.abs(m.found - m.want))),
      least = Math.min(...moved.map((m) => Math.abs(m.found)));
    return shown(
      off < 1e-5 && least > 1e-5,
      'all 8 move the loss, as the double-precision one',
      `${moved.filter((m) => Math.abs(m.found) > 1e-5).length} of 8 move it, off by ${text(off)} at most`,
      'One weight of each made 0.5 larger. The trainer’s gradients are held against PyTorch’s in the project’s native tests.',
    );
  }),
  claim('invalid', 'Configurations that cannot be are refused, with the reason', async (g) => {
    const wrong = {
      'not divisible': { d_model: 30 },
      'not a multiple': { n_kv_heads: 3 },
      'is odd': { d_model: 20 },
      'expected a whole number from 1': { n_layers: 0 },
      'there is no field': { heads: 4 },
    };
    const said = await Promise.all(
      Object.values(wrong).map((change) => refusal(() => g.create({ ...TINY, ...change }))),
    );
    const right = Object.keys(wrong).filter((words, i) => said[i].includes(words)).length;
    return shown(right === 5, '5 of 5 refused', `${right} of 5 refused`, said.map((s) => `“${s}”`).join(' '));
  }),
];
