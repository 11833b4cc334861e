// generation.js - runs claims of tutorial 1: the cache gives what a full pass gives, and what breaks that; sampling
import { distance, entropyOf, ids, softmax } from '../arithmetic.js';
import { tutorial1 } from '../checkpoints.js';
import { argmax, ofCache, ofFile, ofFresh, ofGreedy, ofPass, refusal } from '../claim.js';
import { TINY, WORDS } from '../configs.js';
import { rotate } from '../double_precision.js';
import { noted, over, same, sentence, shapeText, text, under, upTo } from '../outcome.js';
import { reference } from '../reference.js';

/** @type {import('../claim.js').Runs} */
export const runs = {
  cached: ofCache(
    tutorial1,
    {},
    'The tutorial allows 0.00001; here sums run in one order, so nothing is left to allow.',
  ),
  'wrong-offset': ofFile(tutorial1, async (model, made) => {
    const half = WORDS.length / 2;
    const session = await model.session();
    await session.eval(WORDS.slice(0, half));
    const cached = await session.eval(WORDS.slice(half));
    const off = (positions) =>
      distance(cached, reference(made.weights, made.config, WORDS, { positions })[WORDS.length - 1]);
    // the wrong one counts new tokens from 0 again
    const [right, wrong] = [off(undefined), off(WORDS.map((_, i) => i % half))];
    return noted(
      sentence`right: ${under(1e-4, right)}; wrong: ${over(0.01, wrong)}`,
      'Distance of the cached logits from the double-precision ones whose new tokens are counted on, and from 0 again.',
    );
  }),
  'cache-work': ofFresh(TINY, 1, async (model) => {
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
  'rope-offset': ofFresh(TINY, 3, async (model) => {
    const session = await model.session({
      capture: ['blocks.0.attn.hook_rot_k', 'blocks.0.attn.hook_k', 'blocks.0.attn.hook_v'],
    });
    const seen = [];
    for (let n = 0; n < 4; n++) {
      await session.eval([5]);
      seen.push(session.captured);
    }
    const k = seen.map((c) => c['blocks.0.attn.hook_rot_k'].data),
      v = seen.map((c) => c['blocks.0.attn.hook_v'].data),
      plain = Float64Array.from(seen[0]['blocks.0.attn.hook_k'].data);
    // the same token: its key turned by t times the frequencies
    const turned = rotate(Array(4).fill(plain), 4, [0, 1, 2, 3], 10000);
    const keys = Math.max(...k.map((key, t) => distance(key, turned[t]))),
      values = Math.max(...v.map((x) => distance(x, v[0])));
    return sentence`keys turned by 0, 1, 2, 3 steps within ${upTo(1e-6, keys)}, the second by ${over(1e-3, distance(k[1], k[0]))}; values differ by ${same(0, values)}`;
  }),
  'generate-shape': ofFresh(TINY, 8, async (model) => {
    const prompts = [ids(5, 64, 1), ids(5, 64, 2)];
    const { sequences = [] } = await model.complete(prompts, { maxTokens: 7, temperature: 1, seed: 3 });
    const kept = sequences.every((s, i) => s.slice(0, 5).join() === prompts[i].join());
    return same(
      '(2, 12), prompts kept',
      `${shapeText([sequences.length, sequences[0].length])}, prompts ${kept ? 'kept' : 'changed'}`,
    );
  }),
  greedy: ofGreedy(tutorial1, 4, 8),
  temperature: ofPass(tutorial1, {}, async (_, __, { data }, model) => {
    const logits = data.slice(data.length - 48);
    const p = await Promise.all([0.5, 1, 2].map((temperature) => model.distribution(logits, { temperature })));
    const off = Math.max(...p.map((q, i) => distance(q, softmax(logits, [0.5, 1, 2][i])))),
      [low, one, high] = p.map(entropyOf);
    const greedy = await model.distribution(logits, { temperature: 0 });
    return sentence`softmax(logits / T) within ${upTo(1e-6, off)}; ${under(one, low)} bits at T = 0.5, ${over(one, high)} at 2; likeliest at 0: ${same(1, greedy[argmax(logits)])}`;
  }),
  'negative-temperature': ofFile(tutorial1, async (model) => {
    const prompt = WORDS.slice(0, 4);
    const at = (temperature) => model.complete(prompt, { maxTokens: 1, temperature, ignoreEos: true });
    const { data } = (await model.forward(prompt, { logits: 'last' })).logits;
    const [greedy] = (await at(0)).ids;
    const why = await refusal(() => at(-1));
    return noted(
      sentence`0 takes the token ${same(argmax(data), greedy)}; −1 is ${same('refused', why ? 'refused' : 'taken')}`,
      `The engine’s words: ${why}.`,
    );
  }),
  'top-k': ofFile(tutorial1, async (model) => {
    const { data } = (await model.forward(WORDS)).logits,
      logits = data.slice(data.length - 48);
    const p = await model.distribution(logits, { topK: 5, temperature: 1 });
    const border = [...logits].sort((a, b) => b - a)[4];
    const want = softmax(logits.map((v) => (v < border ? -Infinity : v)));
    return sentence`${same(5, p.filter((v) => v > 0).length)} tokens, sharing their probability within ${upTo(1e-6, distance(p, want))}`;
  }),
};
