// claims/tutorial1/swiglu.js - section 3: the FFN.
import { moved } from '../activations.js';
import { loaded } from '../checkpoint.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, ofFile, refusal } from '../claim.js';
import { MODERN, WORDS } from '../configs.js';
import { same, shapeText, shown } from '../outcome.js';
import { count } from '../parameter_table.js';

export const claims = [
  claim('1-swiglu-budget', 'SwiGLU at 8/3 · d_model has the budget of a plain FFN at 4 · d_model', (g) => {
    const of = (ffn, d_ff) => count(g.countParameters({ ...g.PRESETS[MODERN], ffn, d_ff }), 'ffn', 0);
    return same(of('gelu_erf', 4 * 768), of('swiglu', (8 * 768) / 3));
  }),
  claim('1-ffn-shapes', 'Gate and up lead from d_model to d_ff, down leads back', (g) => {
    const { rows } = g.countParameters(MODERN);
    const shape = (name) => shapeText(rows.find((r) => r.name === `blocks.0.ffn.${name}.weight`)?.shape ?? []);
    return same(
      'gate (2048, 768), up (2048, 768), down (768, 2048)',
      ['gate', 'up', 'down'].map((name) => `${name} ${shape(name)}`).join(', '),
    );
  }),
  claim('1-down-backwards', 'A down projection the wrong way round, the usual slip, is refused by name', async (g) => {
    const made = tutorial1(),
      name = 'blocks.1.ffn.W_down.weight',
      { shape, data } = made.weights[name];
    const why = await refusal(() =>
      loaded(g, {
        config: made.config,
        weights: { ...made.weights, [name]: { shape: [...shape].reverse(), data } },
      }),
    );
    return shown(
      why.includes('W_down') && why.includes('[40, 16], expected [16, 40]'),
      'refused: [40, 16], expected [16, 40]',
      why || 'accepted',
    );
  }),
  ofFile('1-ffn-alone', 'The FFN treats each position alone; attention does not', tutorial1, async (model) => {
    const run = async (edits) =>
      (await model.forward(WORDS, { capture: ['blocks.0.hook_mlp_out', 'blocks.1.hook_attn_out'], edits })).captured;
    const [a, b] = [
      await run([]),
      await run([{ at: 'blocks.0.hook_resid_mid', position: 3, add: new Float32Array(16).fill(0.5) }]),
    ];
    const of = (name) => moved(a[name], b[name]);
    return same(
      'FFN: 3; attention: 3, 4, 5, 6, 7, 8, 9, 10, 11',
      `FFN: ${of('blocks.0.hook_mlp_out')}; attention: ${of('blocks.1.hook_attn_out')}`,
      'Positions whose output moves when the stream at position 3 is changed.',
    );
  }),
];
