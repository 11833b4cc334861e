// claims/tutorial1/generation.js - section 6: generation.
import { distance, entropy, ids, softmax, sum } from '../arithmetic.js';
import { tutorial1 } from '../checkpoints/modern_decoder.js';
import { argmax, greedily, ofFile, ofFresh, ofPass, written } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { same, shapeText, shown, text } from '../outcome.js';

export const claims = [
  ofFresh('1-generate-shape', 'generate returns each prompt followed by its new tokens', TINY, 8, async (model) => {
    const prompts = [ids(5, 64, 1), ids(5, 64, 2)];
    const { sequences } = await written(model.generate(prompts, { maxTokens: 7, temperature: 1, seed: 3 }));
    const kept = sequences.every((s, i) => s.slice(0, 5).join() === prompts[i].join());
    return same(
      '(2, 12), prompts kept',
      `${shapeText([sequences.length, sequences[0].length])}, prompts ${kept ? 'kept' : 'changed'}`,
    );
  }),
  ofFile(
    '1-greedy',
    'Greedy decoding is deterministic, and is the argmax of full passes without a cache',
    tutorial1,
    async (model) => {
      const start = WORDS.slice(0, 4),
        run = async () => (await written(model.generate(start, { maxTokens: 8, temperature: 0 }))).ids;
      const [a, b] = [await run(), await run()],
        slow = await greedily(model, start, 12);
      return shown(
        a.join() === b.join() && a.join() === slow.slice(4).join(),
        slow.slice(4).join(' '),
        a.join() === b.join() ? a.join(' ') : `${a.join(' ')} and then ${b.join(' ')}`,
      );
    },
  ),
  ofPass(
    '1-temperature',
    'Temperature divides the logits: below 1 sharpens, above 1 flattens, 0 is the argmax',
    tutorial1,
    {},
    async (_, __, { data }, model) => {
      const logits = data.slice(data.length - 48);
      const p = await Promise.all([0.5, 1, 2].map((temperature) => model.distribution(logits, { temperature })));
      const off = Math.max(...p.map((q, i) => distance(q, softmax(logits, [0.5, 1, 2][i])))),
        bits = p.map(entropy);
      const greedy = await model.distribution(logits, { temperature: 0 });
      const ok = off < 1e-6 && bits[0] < bits[1] && bits[1] < bits[2] && greedy[argmax(logits)] === 1;
      return shown(
        ok,
        'softmax(logits / T) within 0.000001; entropy grows with T',
        `within ${text(off)}; ${bits.map((b) => `${b.toFixed(2)} bits`).join(', ')} at T = 0.5, 1, 2`,
      );
    },
  ),
  ofFile('1-top-k', 'Top-k keeps the k likeliest tokens and shares out their probability', tutorial1, async (model) => {
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
];
