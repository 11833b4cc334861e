// beams.test.js - beam search: its texts, scores and ends
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { collect, logprobOf, openCase, row, stories, untilEnd } from './helpers.js';

const model = await untilEnd(load(stories));

const prompt = 'Once upon a time';

const run = (options, p = prompt) => collect(model.generate(p, options));

describe('beams', () => {
  /** The best sequence of n tokens by trying all of them. */
  async function exhaustive(tiny, prompt, n, v, eos, alpha) {
    let best = { value: -Infinity, ids: [] };
    const session = await tiny.session();
    const walk = async (ids, sum) => {
      const logits = await session.eval(ids.length ? [ids[ids.length - 1]] : prompt);
      for (let id = 0; id < v; id++) {
        const s = sum + logprobOf(logits, id),
          length = ids.length + 1;
        if (id !== eos && length < n) {
          await walk([...ids, id], s);
          await session.rewind(prompt.length + ids.length);
          continue;
        }
        const value = s / ((5 + length) / 6) ** alpha;
        if (value > best.value) best = { value, ids: id === eos ? ids : [...ids, id] };
      }
    };
    await walk([], 0);
    return best.ids;
  }

  for (const lengthPenalty of [0, 0.6, 2]) {
    test(`a beam as wide as all sequences finds the most likely one, length penalty ${lengthPenalty}`, async () => {
      const tiny = await untilEnd(
        create({ vocab_size: 5, d_model: 16, n_layers: 2, n_heads: 2, context_length: 16 }, { seed: 8 }),
      );
      // random weights with std 0.02 give nearly uniform logits: enlarge the input of the output layer
      const edits = [{ at: 'ln_final.hook_normalized', scale: 60 }];
      const want = await exhaustive({ session: () => tiny.session({ edits }) }, [1, 2], 4, 5, -1, lengthPenalty);
      const { ids, steps } = await collect(tiny.generate([1, 2], { beams: 64, lengthPenalty, maxTokens: 4, edits }));
      assert.deepEqual(ids, want);
      assert.deepEqual(
        steps.map((s) => s.position),
        [2, 3, 4, 5],
      );
    });
  }

  test('beam search never finds a less likely text than greedy decoding', async () => {
    const sum = (steps) => steps.reduce((n, s) => n + s.logprob, 0);
    const greedy = await run({ maxTokens: 12, temperature: 0, ignoreEos: true });
    const wide = await run({ maxTokens: 12, beams: 6, lengthPenalty: 0, ignoreEos: true });
    assert.equal(wide.ids.length, 12);
    assert.ok(sum(wide.steps) >= sum(greedy.steps) - 1e-6, `${sum(wide.steps)} < ${sum(greedy.steps)}`);
    assert.deepEqual((await run({ maxTokens: 12, beams: 1, temperature: 0, ignoreEos: true })).ids, greedy.ids);
  });

  test('breaking out of a beam search of several prompts frees its memory', async () => {
    const held = () => model.memory.regions.find((r) => r.name === 'kv cache').bytes;
    const before = held();
    for await (const step of model.generate(
      [
        [1, 2],
        [3, 4],
      ],
      { beams: 4, maxTokens: 5, ignoreEos: true },
    )) {
      assert.ok(step);
      break;
    }
    await model.encode('a');
    assert.equal(held(), before);
  });

  /** Beam search as the textbooks have it: every candidate of every beam, each text computed from its start. */
  async function textbook(start, { beams, lengthPenalty, maxTokens, edits }) {
    const score = (sum, n) => sum / ((5 + n) / 6) ** lengthPenalty;
    let liveBeams = [{ ids: [], sum: 0 }],
      best = { value: -Infinity, ids: [] };
    const offer = (value, ids) => {
      if (value > best.value) best = { value, ids };
    };
    for (let n = 1; n <= maxTokens; n++) {
      const all = [];
      for (const { ids, sum } of liveBeams) {
        const { data, shape } = (await model.forward([...start, ...ids], { edits })).logits;
        const [rows, v] = shape;
        const last = data.subarray((rows - 1) * v),
          shift = logprobOf(last, 0) - last[0]; // the same for every token
        last.forEach((x, id) => all.push({ ids: [...ids, id], sum: sum + x + shift }));
      }
      liveBeams = [];
      for (const [rank, c] of all.sort((x, y) => y.sum - x.sum).entries()) {
        if (liveBeams.length === beams) break;
        if (!model.special.eos.includes(c.ids[n - 1])) liveBeams.push(c);
        else if (rank < beams) offer(score(c.sum, n), c.ids.slice(0, -1));
      }
    }
    for (const { ids, sum } of liveBeams) offer(score(sum, ids.length), ids);
    return best.ids;
  }

  // When all live beams met an end token in the same step, fewer beams continued.
  test("a beam search with end tokens gives the textbook's result", async () => {
    const end = await model.weight('embed.weight', 0),
      start = await model.encode(prompt);
    // makes the end token likely at every position
    const edits = [{ at: 'ln_final.hook_normalized', add: end.map((x) => 2.8 * x) }];
    for (const beams of [2, 3, 4]) {
      for (const lengthPenalty of [0.5, 1, 1.5, 2, 3, 4, 6, 10]) {
        const o = { beams, lengthPenalty, maxTokens: 6, edits };
        assert.deepEqual(
          (await collect(model.generate(start, o))).ids,
          await textbook(start, o),
          JSON.stringify({ beams, lengthPenalty }),
        );
      }
    }
    // an end token that is likely, but not among the best candidates, ends no beam: with plain sums it would win,
    // because longer texts only lose probability
    for (const [beams, scale, likely] of [
      [2, 1, 3],
      [2, 0.7, 2],
      [2, 0.5, 1.5],
      [2, 0.3, 0.8],
      [3, 0.3, 0.8],
    ]) {
      const edits = [
          { at: 'ln_final.hook_normalized', scale },
          { at: 'ln_final.hook_normalized', add: end.map((x) => likely * x) },
        ],
        o = { beams, lengthPenalty: 0, maxTokens: 6, edits };
      assert.deepEqual(
        (await collect(model.generate(start, o))).ids,
        await textbook(start, o),
        `${beams} beams, ${likely}`,
      );
    }
  });

  test('beam search works with an encoder-decoder', async () => {
    const c = openCase('t2_encdec_padmask');
    const translator = await untilEnd(load(c.source, { dtype: 'f32' }));
    const { steps, summary } = await collect(
      translator.generate(c.about.greedy.prompt, { ...c.run, beams: 4, maxTokens: 10 }),
    );
    const { logits } = await translator.forward([...c.about.greedy.prompt, ...summary.ids], c.run);
    for (const s of steps) assert.ok(Math.abs(s.logprob - logprobOf(row(logits, s.position - 1), s.id)) < 1e-5);
  });
});
