// claims/tutorial1/coverage.js - section 8: what its tests cover besides, gradients and refusals.
import { loss } from '../arithmetic.js';
import { loaded, nudged } from '../checkpoint.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { claim, refusal, using } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { shown, text } from '../outcome.js';
import { decoder } from '../reference/modern_forward.js';
import { flat } from '../reference/parts.js';

export const claims = [
  claim('1-gradients', 'The loss depends on the embedding, on each block’s FFN and on each norm', async (g) => {
    const made = tutorial1(),
      of = (c) => using(loaded(g, c), async (model) => loss((await model.forward(WORDS)).logits, WORDS));
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
  claim('1-invalid', 'Configurations that cannot be are refused, with the reason', async (g) => {
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
