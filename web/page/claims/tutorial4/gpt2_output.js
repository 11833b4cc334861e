// claims/tutorial4/gpt2_output.js - causality, the tied head, distributions and generation.
import { distance, ids, fromOne, rms, rows, softmax } from '../arithmetic.js';
import { gpt2 as gpt2File } from '../checkpoints/gpts.js';
import { argmax, ofFile, ofFresh, refusal, written } from '../claim.js';
import { TINY_GPT2, WORDS } from '../configs.js';
import { atMost, same, shown, text } from '../outcome.js';
import { count, ofCount } from '../parameter_table.js';
import { D, T, V, ofGpt2 } from './gpt2_pass.js';

export const claims = [
  ofFile(
    '4-causal',
    'Causal: no position can attend to a later one, so a later token changes nothing before it',
    gpt2File,
    async (model) => {
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
    },
  ),
  ofGpt2(
    '4-tied',
    'Logits are the normed stream times the transposed token embedding',
    ['ln_final.hook_normalized'],
    (c, w, logits) => {
      const [gain, shift, e] = ['ln_f.weight', 'ln_f.bias', 'wte.weight'].map((name) => w[name].data);
      const want = rows(c['ln_final.hook_normalized']).flatMap((x) =>
        Array.from({ length: V }, (_, id) => x.reduce((s, v, i) => s + (v * gain[i] + shift[i]) * e[id * D + i], 0)),
      );
      return atMost(1e-4, distance(logits.data, want));
    },
  ),
  ofCount('4-tied-free', 'The tied head costs no parameter', 'gpt2', 0, (t) => count(t, 'head')),
  ofGpt2(
    '4-distributions',
    'The output is a probability distribution over the vocabulary at each position',
    [],
    async (_, __, logits, model) => {
      const each = await Promise.all(rows(logits).map((r) => model.distribution(r, {})));
      const off = Math.max(fromOne(each), ...rows(logits).map((r, i) => distance(each[i], softmax(r))));
      return shown(
        each.length === T && off < 1e-5 && rms(logits.data) > 0.1,
        '12 that sum to 1 ± 0.00001',
        `${each.length} that sum to 1 ± ${text(off)}`,
      );
    },
  ),
  ofFile(
    '4-generation',
    'Generation feeds on the forward pass: each greedy token is its likeliest',
    gpt2File,
    async (model) => {
      const made = (await written(model.generate(WORDS.slice(0, 5), { maxTokens: 6, temperature: 0, ignoreEos: true })))
          .ids,
        all = [...WORDS.slice(0, 5), ...made];
      const likeliest = rows((await model.forward(all)).logits)
        .map(argmax)
        .slice(4, -1);
      return same(likeliest.join(' '), made.join(' '));
    },
  ),
  ofFresh('4-context', 'No more positions than n_ctx: a longer input is refused', TINY_GPT2, 1, async (model) => {
    const fits = await refusal(() => model.forward(ids(32, 64)).then(() => null)),
      longer = await refusal(() => model.forward(ids(33, 64)).then(() => null));
    return shown(
      fits === '' && longer.includes('33') && longer.includes('32'),
      '32 fit, 33 are refused',
      `32 ${fits ? 'are refused' : 'fit'}, 33 ${longer ? 'are refused' : 'fit'}`,
      longer ? `“${longer}”` : undefined,
    );
  }),
];
