// claims/tutorial1/decoder_model.js - the model itself: its logits, shapes and tables, what moves its loss, and what it refuses
import { distance, ids, loss, sum } from '../arithmetic.js';
import { loaded, nudged, tutorial1, tutorial1Classical } from '../checkpoints.js';
import { ofFresh, ofFreshPass, ofReference, refusal, using } from '../claim.js';
import { MODERN, TINY, WORDS } from '../configs.js';
import { flat } from '../double_precision.js';
import { same, sentence, shown, text } from '../outcome.js';
import { block, count } from '../parameter_table.js';
import { reference } from '../reference.js';

/**
 * Something of a model, and of a session of it that has read three tokens.
 * @template T
 * @param {typeof import('glassformer')} glassformer
 * @param {any} config
 * @param {(model: import('glassformer').Model, session: import('glassformer').Session) => T} read
 */
const afterThree = (glassformer, config, read) =>
  using(glassformer.create(config, { seed: 1 }), async (model) => {
    const session = await model.session();
    await session.eval([1, 2, 3]);
    return read(model, session);
  });

/** @type {import('../claim.js').Runs} */
export const runs = {
  'tied-zero': async (g) => {
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
  reference: ofReference(tutorial1),
  'reference-untied': ofReference(() => tutorial1({ tie_embeddings: false })),
  'reference-classical': ofReference(tutorial1Classical),
  'classical-count': (g) => {
    const [modern, classical] = [g.countParameters(MODERN), g.countParameters('classical-decoder')];
    return sentence`${same(4718592, count(classical, 'ffn', 0))} in the FFN, ${same(1536, block(classical) - block(modern))} more in the block`;
  },
  shape: ofFreshPass(TINY, { ids: [ids(10, 64), ids(10, 64, 2)] }, (_, logits) => same([2, 10, 64], logits.shape)),
  'no-position-input': ofFresh(TINY, 1, async (model, g) => {
    const list = ids(6, 64);
    const { captured } = await model.forward(list, { capture: ['blocks.0.hook_resid_pre'] });
    const looked = await Promise.all(list.map(async (id) => [...(await model.weight('embed.weight', id))]));
    const off = distance(captured['blocks.0.hook_resid_pre'].data, looked.flat()),
      positions = count(g.countParameters(TINY), 'position');
    return sentence`difference ${same(0, off)}, ${same(0, positions)} position weights`;
  }),
  'one-rope-table': async (g) => {
    const scratch = (config) =>
      afterThree(g, config, (model) => model.memory.regions.find((r) => r.name === 'scratch')?.bytes ?? NaN);
    const table = async (n) =>
      (await scratch({ ...TINY, n_layers: n })) - (await scratch({ ...TINY, n_layers: n, position: 'none' }));
    const [one, six] = [await table(1), await table(6)];
    return shown(
      one > 0 && one === six,
      'the same bytes with 1 layer and with 6',
      `${text(one)} bytes with 1 layer, ${text(six)} with 6`,
    );
  },
  'cache-slots': async (g) => {
    const bytes = (n) => afterThree(g, { ...TINY, n_layers: n }, (_, session) => session.bytes);
    const [one, two, six] = [await bytes(1), await bytes(2), await bytes(6)];
    return shown(
      one > 0 && two === 2 * one && six === 6 * one,
      '1, 2 and 6 times the cache of one layer',
      `${text(one)}, ${text(two)} and ${text(six)} bytes`,
    );
  },
  gradients: async (g) => {
    const made = tutorial1(),
      of = (c) => using(loaded(g, c), async (model) => loss((await model.forward(WORDS)).logits, WORDS));
    const truth = (c) => loss({ data: flat(reference(c.weights, c.config, WORDS)), shape: [WORDS.length, 48] }, WORDS);
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
  },
  invalid: async (g) => {
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
  },
};
