// not_finite.test.js - NaN and infinities that finite weights or edits give are an error, unless they are asked for
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { create, load } from '../../web/lib/api/index.js';
import { golden, openCase, readTensors, refused, untilEnd } from './helpers.js';
import { safetensors } from './checkpoint_files.js';

const folder = join(golden, 'llama_1tok');
const ids = [3, 1, 4, 1, 5];
/** Edits that make a value at position 2 larger than the largest number in single precision. */
const huge = [{ set: 3e38 }, { scale: 10 }].map((edit) => ({ at: 'blocks.1.hook_mlp_out', position: 2, ...edit }));
const first = /blocks\.1\.hook_mlp_out at position 2: .*allowNonFinite/;
const hasNaN = (data) => data.some((x) => !Number.isFinite(x));

for (const worker of [false, true])
  describe(worker ? 'in a worker' : "in the caller's thread", () => {
    let model, broken;
    before(async () => {
      const tensors = readTensors(join(folder, 'model.safetensors'));
      model = await create({ vocab_size: 64, d_model: 32, n_layers: 3, n_heads: 2 }, { seed: 1, worker });
      tensors['model.layers.0.mlp.down_proj.weight'].data.fill(3e38);
      broken = await load(
        { weights: safetensors(tensors), config: openCase('llama_1tok').config },
        { worker, dtype: 'f32' },
      );
    });
    after(() => {
      model.dispose();
      broken.dispose();
    });

    test('huge finite weights: forward, eval, logitLens, attribution and explain name layer and point', async () => {
      const where = /blocks\.0\.hook_mlp_out at position 0: /;
      await refused(broken.forward(ids), 'not-finite', where);
      await refused(broken.forward([ids, ids]), 'not-finite', where);
      await refused(broken.forward(ids, { capture: ['blocks.0.hook_mlp_out'] }), 'not-finite', where);
      await refused(broken.logitLens(ids), 'not-finite', where);
      await refused(broken.attribution(ids), 'not-finite', where);
      await refused(broken.explain(ids, { at: 'blocks.0.hook_mlp_out' }), 'not-finite', where);
      const session = await broken.session();
      await refused(session.eval(ids), 'not-finite', where);
      assert.equal(session.length, 0);
      await session.close();
    });

    test('embed: the position is that of its own input, not of the pass', async () => {
      const tensors = readTensors(join(golden, 'bert', 'model.safetensors'));
      const rows = (table) => Object.entries(tensors).find(([name]) => name.endsWith(`${table}_embeddings.weight`))[1];
      rows('word').data.fill(3e38, 30 * 32, 31 * 32); // token 30, whose sum with position 2 is infinite
      rows('position').data.fill(3e38, 2 * 32, 3 * 32);
      const encoder = await load({ weights: safetensors(tensors), config: openCase('bert').config }, { worker });
      await refused(encoder.embed([ids, [7, 8, 30, 9], ids]), 'not-finite', /embed\.ln\.hook_scale at position 2: /);
      assert.ok(!hasNaN((await encoder.embed([ids, ids.slice(1)])).data));
      encoder.dispose();
    });

    test('huge edits: the first point is named, a session keeps what it held', async () => {
      await refused(model.forward(ids, { edits: huge }), 'not-finite', first);
      const session = await model.session({ edits: huge });
      await session.eval(ids.slice(0, 2));
      await refused(session.eval(ids.slice(2)), 'not-finite', first);
      assert.equal(session.length, 2);
      await session.close();
    });

    test('a captured point whose infinity does not reach the logits is named', async () => {
      const at = 'blocks.0.attn.hook_attn_scores_scaled';
      const { captured } = await model.forward(ids, { capture: ['*scores*'] }); // masked cells are -Infinity
      assert.ok(hasNaN(captured['blocks.0.attn.hook_attn_scores'].data));
      const edits = [
        { at: 'blocks.2.hook_resid_post', set: 3e38 },
        { at: 'blocks.2.hook_resid_post', scale: 10 },
      ];
      await refused(
        model.forward(ids, {
          edits: [...edits, { at: 'ln_final.hook_normalized', set: 0 }],
          capture: ['*.hook_resid_post'],
        }),
        'not-finite',
        /blocks\.2\.hook_resid_post at position 0/,
      );
      assert.ok(captured[at]);
    });

    test('allowNonFinite returns them', async () => {
      const o = { allowNonFinite: true };
      assert.ok(hasNaN((await broken.forward(ids, o)).logits.data));
      const { captured } = await model.forward(ids, { edits: huge, capture: ['blocks.1.hook_resid_post'], ...o });
      assert.ok(hasNaN(captured['blocks.1.hook_resid_post'].data));
      assert.ok(!Number.isFinite((await broken.explain(ids, { at: 'blocks.0.hook_mlp_out', ...o })).value));
      const session = await broken.session(o);
      assert.ok(hasNaN(await session.eval(ids)));
      assert.ok(hasNaN(await (await session.fork()).eval([1])));
      await session.close();
    });

    test('a key or value that an f16 cache cannot hold is an error in any call, and nothing is kept of it', async () => {
      const half = await create(
        { vocab_size: 64, d_model: 32, n_layers: 3, n_heads: 2 },
        { seed: 1, worker, kvDtype: 'f16' },
      );
      for (const point of ['hook_k', 'hook_v']) {
        const edits = [{ at: `blocks.1.attn.${point}`, position: 3, set: 7e4 }];
        await model.forward(ids, { edits }); // f32
        await refused(half.forward(ids, { edits, allowNonFinite: true }), 'not-finite', /position 3 .*above 65504/);
        const session = await half.session({ edits });
        await session.eval(ids.slice(0, 3));
        await refused(session.eval(ids.slice(3)), 'not-finite', /position 3 /);
        assert.equal(session.length, 3);
        await session.close();
      }
      half.dispose();
    });

    test('an encoder', async () => {
      const encoder = await untilEnd(
        create({ kind: 'encoder', vocab_size: 64, d_model: 32, n_layers: 3, n_heads: 2 }, { seed: 1, worker }),
      );
      const edits = [
        { at: 'blocks.1.hook_mlp_out', set: 3e38 },
        { at: 'blocks.1.hook_mlp_out', scale: 10 },
      ];
      await refused(encoder.forward(ids, { edits }), 'not-finite', /blocks\.1\.hook_mlp_out at position 0/);
      assert.ok(hasNaN((await encoder.forward(ids, { edits, allowNonFinite: true })).hidden.data));
    });
  });
