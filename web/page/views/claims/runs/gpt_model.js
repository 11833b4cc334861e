// gpt_model.js - runs claims of tutorial 5: the model, its shapes, its loss, and the three families
import { ids, loss, normal, rows, uniform } from '../arithmetic.js';
import { loaded, plainGpt } from '../checkpoints.js';
import { ofFresh, ofFreshPass, ofGreedy, ofReference, using } from '../claim.js';
import { GPT, WALK } from '../configs.js';
import { finite, misprint, near, noted, same, sentence, shapeText, text } from '../outcome.js';

/**
 * What a first draft of its class holds: PyTorch's defaults, a unit normal for embeddings, uniform within 1 / sqrt(in)
 * for linear maps.
 */
function byDefault() {
  const made = plainGpt({ vocab_size: 1000, d_model: 128, n_layers: 4, n_heads: 4, context: 64 }),
    draw = normal(5),
    u = uniform(6);
  for (const [name, { shape, data }] of Object.entries(made.weights)) {
    const reach = 1 / Math.sqrt(shape[1] ?? 1);
    for (let i = 0; i < data.length; i++)
      data[i] =
        shape.length === 1
          ? Number(name.endsWith('.weight'))
          : name.endsWith('emb.weight')
            ? draw()
            : reach * (2 * u() - 1);
  }
  return made;
}

/** A model's loss over 64 tokens. @param {Promise<import('glassformer').Model>} making */
const lossOf = (making) =>
  using(making, async (model) => {
    const list = ids(64, 1000);
    return loss(rows((await model.forward(list)).logits), list);
  });

/** What a token passes in the walk of the lesson. */
const WALKED = [
  ...['hook_embed', 'hook_pos_embed', 'ln_final.hook_normalized'],
  ...['ln1.hook_normalized', 'hook_attn_out', 'hook_resid_mid'].map((name) => `blocks.*.${name}`),
  ...['ln2.hook_normalized', 'hook_mlp_out', 'hook_resid_post'].map((name) => `blocks.*.${name}`),
  ...['attn.hook_q', 'attn.hook_k', 'attn.hook_v', 'attn.hook_z'].map((name) => `blocks.*.${name}`),
  ...['mlp.hook_pre', 'mlp.hook_post'].map((name) => `blocks.*.${name}`),
];

/**
 * How many of these have the shape of the lesson, for a batch of this shape.
 * @param {Record<string, import('glassformer').Tensor>} captured
 * @param {number[]} batch
 * @param {{ width: number, heads: number, hidden: number }} sizes
 */
const inShape = (captured, batch, { width, heads, hidden }) =>
  Object.entries(captured).filter(([name, { shape }]) => {
    const last =
      /attn/.test(name) && !/out/.test(name) ? [heads, width / heads] : /mlp\./.test(name) ? [hidden] : [width];
    return shape.join() === [...batch, ...last].join();
  }).length;

/** @returns {import('../tutorial_sections.js').Table} */
export const familyTable = () => ({
  head: ['Family', 'Examples', 'Attention', 'Trained on', 'Used for'],
  rows: [
    ['Encoder only', 'BERT, RoBERTa, DeBERTa', 'both ways', 'hidden words', 'classes, names, embeddings'],
    [
      'Decoder only',
      'GPT, LLaMA, Mistral, Qwen, DeepSeek, Gemma',
      'backwards',
      'the next token',
      'writing, and all that a prompt can ask',
    ],
    [
      'Encoder-decoder',
      'T5, BART, the original Transformer',
      'both ways, backwards, across',
      'hidden spans, pairs of texts',
      'translation, summaries',
    ],
  ],
});

/** @type {import('../claim.js').Runs} */
export const runs = {
  shape: ofFreshPass(GPT, { ids: [ids(32, 1000), ids(32, 1000, 2)] }, (_, logits) => finite([2, 32, 1000], logits)),
  reference: ofReference(plainGpt),
  trace: ofFresh(GPT, 1, async (model) => {
    const all = await model.trace(ids(64, 1000)),
      of = (layer) => all.filter((r) => r.layer === layer).map(({ op, out }) => `${op} ${shapeText([2, ...out])}`);
    const alike = [0, 1, 2, 3].filter((l) => of(l).join() === of(0).join()).length,
      fused = of(0).find((op) => op.startsWith('attn.qkv'));
    const { logits, captured } = await model.forward([ids(64, 1000), ids(64, 1000, 2)], { capture: WALKED });
    const right = inShape(captured, [2, 64], { width: 128, heads: 4, hidden: 512 });
    return noted(
      sentence`${same(51, right)} stages of shape (2, 64, 128), (2, 64, 4, 32) or (2, 64, 512); ${same('attn.qkv (2, 64, 384)', fused)} and the rest ${same(4, alike)} times alike; logits ${same([2, 64, 1000], logits.shape)}`,
      `${of(0).join(', ')}.`,
    );
  }),
  walk: ofFresh(WALK, 1, async (model) => {
    const batch = [1, 2, 3, 4].map((seed) => ids(128, 32000, seed));
    const { logits, captured } = await model.forward(batch, { capture: WALKED });
    const right = inShape(captured, [4, 128], { width: 512, heads: 8, hidden: 2048 });
    return noted(
      sentence`${same(75, right)} stages as in the lesson, logits ${same([4, 128, 32000], logits.shape)}`,
      'Read off the live tensors of all 6 blocks. Queries, keys and values, 3 × 512 = 1536 in the lesson’s fused map, are held [position, head, d_head]; the lesson turns them to [head, position, d_head].',
    );
  }),
  'width-kept': ofFreshPass(
    GPT,
    { ids: [ids(9, 1000), ids(9, 1000, 2), ids(9, 1000, 3)], capture: ['*.hook_resid_*'] },
    (c, logits) => {
      const widths = new Set(Object.values(c).map((t) => shapeText(t.shape)));
      return sentence`${same('(3, 9, 128)', [...widths].join(', '))}, then ${same([3, 9, 1000], logits.shape)}`;
    },
  ),
  'fresh-loss': async (g) => {
    const found = await lossOf(g.create(GPT, { seed: 1 }));
    return near(Math.log(1000), found, 0.02 * Math.log(1000), 'Weights of standard deviation 0.02. ln(1000) is 6.908.');
  },
  'default-loss': async (g) => {
    const found = await lossOf(loaded(g, byDefault()));
    return misprint(
      'ln(1000) = 6.908',
      near(85, found, 8),
      'An embedding of unit normals, tied, makes logits of standard deviation √128 ≈ 11 in place of 0.2. PyTorch gives 83, 84, 87 and 87 for four seeds. The exercise needs weights of standard deviation 0.02.',
    );
  },
  generate: ofGreedy(plainGpt, 5, 8),
  families: async (g) => {
    const base = { vocab_size: 40, d_model: 32, n_layers: 1, n_heads: 2, context_length: 16 };
    const looks = (kind, source) =>
      using(g.create({ ...base, kind }, { seed: 1 }), async (model) => {
        const { captured } = await model.forward(ids(8, 40), { capture: ['*.attn.hook_pattern'], source });
        const ahead = (pattern) => rows(pattern).some((r, i) => r.subarray((i % 8) + 1).some((p) => p > 0));
        return Object.values(captured).map((pattern) => (ahead(pattern) ? 'both ways' : 'backwards'));
      });
    const found = [await looks('encoder'), await looks('decoder'), await looks('encoder_decoder', ids(8, 40, 2))];
    return same(
      'both ways; backwards; both ways and backwards',
      found.map((stacks) => stacks.join(' and ')).join('; '),
      'Two of the examples do not run here: DeBERTa (disentangled attention), and DeepSeek V2 and V3 (multi-head latent attention).',
    );
  },
  'one-class': (g) => {
    const names = /** @type {const} */ (['gpt2', 'llama-7b', 'llama3-70b']),
      found = names.map((n) => g.countParameters(n).total);
    return same('124,439,808; 6,738,415,616; 70,553,706,496', found.map(text).join('; '));
  },
};
