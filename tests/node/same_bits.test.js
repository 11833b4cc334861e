// same_bits.test.js - every concept of the configuration gives the same bits by every path of computation
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from '../../web/lib/api/index.js';
import { logprobOf, numbers, row, sameBits } from './helpers.js';
import { DECODERS, ENCODER_DECODERS, randomModel } from './small_models.js';

/** Query `i` of a pattern, all heads. */
const queryOf = ({ data, shape: [heads, queries, keys] }, i, n = keys) =>
  Float32Array.from({ length: heads * n }, (_, at) => data[(Math.floor(at / n) * queries + i) * keys + (at % n)]);

for (const [name, fields] of Object.entries({ ...DECODERS, ...ENCODER_DECODERS })) {
  describe(name, () => {
    let source;
    const model = (options) => load((source ??= randomModel(fields)), { dtype: 'f32', ...options });
    const ids = numbers(150, 61, 3);
    const capture = [fields.kind ? 'decoder.*.hook_pattern' : '*.hook_pattern'];
    const input = fields.kind ? { source: numbers(90, 61, 5) } : {};

    test('token by token gives the same logits and patterns as one pass of 1, 7, 64 or 150 positions', async () => {
      const m = await model();
      const session = await m.session({ ...input, capture });
      const steps = [];
      for (const id of ids) steps.push({ logits: await session.eval([id]), captured: session.captured });
      // where frequencies depend on the length, only the last row of a pass is that of a step
      const dependent = /dynamic|longrope/.test(m.config.ropeScaling);
      for (const n of dependent ? ids.map((_, i) => i + 1) : [1, 7, 64, 150]) {
        const { logits, captured } = await m.forward(ids.slice(0, n), { ...input, capture });
        assert.ok(logits.data.every(Number.isFinite));
        assert.ok(new Set(logits.data).size > logits.data.length / 4, 'the logits differ from each other');
        assert.ok(Object.keys(captured).length >= m.config.nLayers);
        for (let i = dependent ? n - 1 : 0; i < n; i++) {
          assert.ok(sameBits(steps[i].logits, row(logits, i)), `logits after position ${i} of ${n}`);
          for (const [point, whole] of Object.entries(captured)) {
            const step = steps[i].captured[point];
            assert.ok(
              point.includes('cross') || step.shape[2] === i + 1,
              `${point} has ${step.shape} after position ${i}`,
            );
            assert.ok(sameBits(queryOf(step, 0), queryOf(whole, i, step.shape[2])), `${point}, row ${i} of ${n}`);
          }
        }
      }
      m.dispose();
    });

    test('pieces of any size, a rewound session and a fork give the same bits as one pass', async () => {
      const m = await model();
      const last = async (list) => row((await m.forward(list, input)).logits, list.length - 1);
      const pieces = await m.session(input);
      for (let at = 0, k = 1; at < ids.length; at += k, k = k * 2 + 1) {
        const end = Math.min(at + k, ids.length);
        assert.ok(sameBits(await pieces.eval(ids.slice(at, end)), await last(ids.slice(0, end))), `up to ${end}`);
      }
      const session = await m.session(input);
      await session.eval(ids.slice(0, 90));
      await session.rewind(41);
      assert.equal(session.length, 41);
      const fork = await session.fork();
      const [a, b] = [numbers(5, 61, 3), numbers(20, 61, 2)];
      const ofFork = await fork.eval(a);
      assert.ok(sameBits(await session.eval(b), await last([...ids.slice(0, 41), ...b])), 'after a rewind');
      assert.ok(sameBits(ofFork, await last([...ids.slice(0, 41), ...a])), 'of the fork');
      assert.equal(fork.length, 46);
      m.dispose();
    });

    test('captures, and edits without effect, do not change a bit; rows of patterns add up to 1', async () => {
      const m = await model();
      const { logits } = await m.forward(ids, input);
      const { captured, ...seen } = await m.forward(ids, { ...input, capture: ['*'] });
      assert.ok(sameBits(seen.logits.data, logits.data), 'with all captures');
      assert.deepEqual(Object.keys(captured).sort(), [...(await m.points())].sort());
      for (const [point, pattern] of Object.entries(captured).filter(([point]) => /hook_pattern$/.test(point)))
        for (let i = 0; i < pattern.shape[1]; i++) {
          const sum = queryOf(pattern, i).reduce((a, b) => a + b, 0);
          assert.ok(Math.abs(sum - pattern.shape[0]) < 1e-4, `${point}: row ${i} of all heads adds up to ${sum}`);
        }
      const lastStream = Object.keys(captured).findLast((point) => /hook_resid_post$/.test(point));
      const stream = captured[lastStream];
      for (const [what, edits] of Object.entries({
        'no edit': [],
        'every point times 1': [{ at: fields.n_experts ? '*.hook_attn_out' : '*', scale: 1 }],
        'the last stream set to itself': ids.map((_, i) => ({ at: lastStream, position: i, set: row(stream, i) })),
      }))
        assert.ok(sameBits((await m.forward(ids, { ...input, edits })).logits.data, logits.data), what);
      // without captures the last block computes only the rows whose logits are wanted
      const edits = [{ at: fields.n_experts ? '*.hook_attn_out' : '*', scale: 0.9 }];
      const edited = await m.forward(ids, { ...input, edits });
      for (const positions of [[ids.length - 1], [70, 66], []]) {
        const some = await m.forward(ids, { ...input, edits, logits: positions });
        positions.forEach((p, i) => assert.ok(sameBits(row(some.logits, i), row(edited.logits, p)), `edited, ${p}`));
      }
      m.dispose();
    });

    test('the lens ends in the output, and the trace has every parameter', async () => {
      const m = await model();
      const { logits } = await m.forward(ids, input);
      const lens = await m.logitLens(ids, { ...input, top: 1 });
      assert.equal(lens.length, m.config.nLayers);
      ids.forEach((_, i) => {
        const own = row(logits, i);
        const best = own.reduce((b, x, id) => (x > own[b] ? id : b), 0);
        const [{ id, logprob }] = lens.at(-1)[i];
        assert.equal(id, best);
        assert.ok(Math.abs(logprob - logprobOf(own, best)) < 1e-5, `log probability at position ${i}`);
      });
      // a table that both stacks read is counted in the decoder alone
      const traced = new Map((await m.trace([1, 2, 3], input)).map((r) => [r.name, r.parameters]));
      assert.equal(
        [...traced.values()].reduce((a, b) => a + b, 0),
        m.parameters.total,
      );
      m.dispose();
    });

    test('the simd binary, the relaxed binary and several threads give the same bits', async () => {
      const backends = [{ backend: 'simd' }, { backend: 'relaxed' }];
      const helped = { worker: true, threads: 3, passes: 2 }; // helpers join in the second pass
      // with q8_0, threads also quantise the rows; threads.test.js has the other types
      for (const [dtype, runs] of Object.entries({ f32: backends, q8_0: [...backends, helped] })) {
        let first;
        for (const { passes = 1, ...options } of runs) {
          const m = await model({ dtype, ...options }).catch((e) => {
            assert.deepEqual([e.code, options.backend], ['unsupported', 'relaxed']); // this Node has no relaxed SIMD
            return null;
          });
          for (let i = 0; m && i < passes; i++) {
            const { logits, captured } = await m.forward(ids.slice(0, 70), { ...input, capture: ['*'] });
            first ??= { logits, captured };
            assert.ok(sameBits(logits.data, first.logits.data), `logits in ${dtype}, ${JSON.stringify(options)}`);
            for (const [point, { data }] of Object.entries(captured))
              assert.ok(sameBits(data, first.captured[point].data), `${point} in ${dtype}, ${JSON.stringify(options)}`);
          }
          m?.dispose();
        }
      }
    });
  });
}
