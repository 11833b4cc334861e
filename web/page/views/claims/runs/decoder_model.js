// decoder_model.js - runs claims of tutorial 1: logits, shapes and tables of the decoder, what changes its loss, and
// what it rejects
import { distance, ids, loss, rows, sum } from '../arithmetic.js';
import { loaded, nudged, tutorial1, tutorial1Classical } from '../checkpoints.js';
import { ofFresh, ofFreshPass, ofReference, refusal, using } from '../claim.js';
import { MODERN, TINY, WORDS } from '../configs.js';
import { noted, over, same, sentence, shown, under, upTo } from '../outcome.js';
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
  'tied-zero': ofFresh(TINY, 2, async (model, g) => {
    const { total, rows } = model.parameters,
      head = rows.find((r) => r.component === 'head');
    const bytes = sum(rows.map((r) => r.memoryBytes ?? 0)),
      untied = g.countParameters({ ...TINY, tie_word_embeddings: false }).total;
    const { logits, captured } = await model.forward([7], { capture: ['ln_final.hook_normalized'] });
    const gain = await model.weight('final_norm.weight'),
      e = await model.weight('embed.weight', 9);
    const dot = captured['ln_final.hook_normalized'].data.reduce((s, v, i) => s + v * gain[i] * e[i], 0);
    return noted(
      sentence`${same(0, head?.count)} parameters, tied to ${same('embed.weight', head?.tiedTo)}; untied ${same(2048, untied - total)} more; ${under(4 * untied, bytes)} bytes; one logit by hand within ${upTo(1e-5, Math.abs(dot - logits.data[9]))}`,
      `From the embedding’s row: ${dot.toFixed(5)}, the model’s: ${logits.data[9].toFixed(5)}.`,
    );
  }),
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
    return sentence`${over(0, one)} bytes with 1 layer, ${same(one, six)} with 6`;
  },
  'cache-slots': async (g) => {
    const bytes = (n) => afterThree(g, { ...TINY, n_layers: n }, (_, session) => session.bytes);
    const [one, two, six] = [await bytes(1), await bytes(2), await bytes(6)];
    return sentence`${over(0, one)} bytes with 1 layer, ${same(2 * one, two)} with 2, ${same(6 * one, six)} with 6`;
  },
  gradients: async (g) => {
    const made = tutorial1(),
      of = (c) => using(loaded(g, c), async (model) => loss(rows((await model.forward(WORDS)).logits), WORDS));
    const truth = (c) => loss(reference(c.weights, c.config, WORDS), WORDS);
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
        return [(await of(other)) - base, truth(other) - exact];
      }),
    );
    const off = Math.max(...moved.map(([found, want]) => Math.abs(found - want))),
      least = Math.min(...moved.map(([found]) => Math.abs(found)));
    return noted(
      sentence`all 8 move the loss: by ${over(1e-5, least)}, within ${upTo(1e-5, off)} of the double-precision one`,
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
