// claims/tutorial1/decoder_model.js - the model itself: its logits, its shapes, its tables.
import { distance, ids, sum } from '../arithmetic.js';
import { tutorial1, tutorial1Classical } from '../checkpoints/modern_decoder.js';
import { claim, ofFresh, ofFreshPass, ofReference, using } from '../claim.js';
import { MODERN, TINY } from '../configs.js';
import { same, shown, text } from '../outcome.js';
import { block, count } from '../parameter_table.js';
import { decoder } from '../reference/modern_forward.js';

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

export const claims = [
  claim(
    '1-tied-zero',
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
  ofReference(
    '1-reference',
    'The modern decoder gives the logits of the tutorial’s arithmetic in double precision, from a file with its names',
    tutorial1,
    decoder,
  ),
  ofReference(
    '1-reference-untied',
    'So does the one with a head of its own',
    () => tutorial1({ tie_embeddings: false }),
    decoder,
  ),
  ofReference(
    '1-reference-classical',
    'Three arguments change the same class into the design of 2017: post-norm, LayerNorm and GELU give that arithmetic’s logits',
    tutorial1Classical,
    decoder,
  ),
  claim(
    '1-classical-count',
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
  ofFreshPass(
    '1-shape',
    'Token ids of shape (2, 10) become logits of shape (2, 10, vocabulary)',
    TINY,
    { ids: [ids(10, 64), ids(10, 64, 2)] },
    (_, logits) => same([2, 10, 64], logits.shape),
  ),
  ofFresh(
    '1-no-position-input',
    'With rotary positions nothing is added to the embedding: the first block reads the rows of the table',
    TINY,
    1,
    async (model, g) => {
      const list = ids(6, 64);
      const { captured } = await model.forward(list, { capture: ['blocks.0.hook_resid_pre'] });
      const looked = await Promise.all(list.map(async (id) => [...(await model.weight('embed.weight', id))]));
      const off = distance(captured['blocks.0.hook_resid_pre'].data, looked.flat()),
        positions = count(g.countParameters(TINY), 'position');
      return shown(
        off === 0 && positions === 0,
        'difference 0, 0 position weights',
        `difference ${text(off)}, ${positions} position weights`,
      );
    },
  ),
  claim('1-one-rope-table', 'One table of sines and cosines serves all layers', async (g) => {
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
  }),
  claim('1-cache-slots', 'One cache slot per layer', async (g) => {
    const bytes = (n) => afterThree(g, { ...TINY, n_layers: n }, (_, session) => session.bytes);
    const [one, two, six] = [await bytes(1), await bytes(2), await bytes(6)];
    return shown(
      one > 0 && two === 2 * one && six === 6 * one,
      '1, 2 and 6 times the cache of one layer',
      `${text(one)}, ${text(two)} and ${text(six)} bytes`,
    );
  }),
];
