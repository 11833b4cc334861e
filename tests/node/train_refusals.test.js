// train_refusals.test.js - train() refuses teachers and checkpoints that do not fit; bad_inputs.js has the rest
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, train } from '../../web/lib/api/index.js';
import { refusedRun, small, steps, text, tiny } from './small_runs.js';

describe('refusals', () => {
  test('of teachers that do not fit, and of the type of files', async () => {
    const teacher = await create({ ...tiny, vocab_size: 40, context_length: 8 });
    const examples = { examples: [[1, 2, 3]] };
    await refusedRun(tiny, text, { teacher, vocabSize: 300 }, 'bad-option', /those of the teacher/);
    await refusedRun(tiny, text, { teacher, teacherShare: 2 }, 'bad-option', /teacherShare is 2/);
    await refusedRun(tiny, text, { teacher }, 'no-tokenizer', /the teacher has no tokenizer/);
    await refusedRun(
      { ...tiny, vocab_size: 50 },
      examples,
      { teacher },
      'bad-config',
      /a teacher of 40 tokens and a context of 8 does not fit a model of 50 and/,
    );
    teacher.dispose();
    const run = train(tiny, text, { ...small, steps: 3 });
    await run.next();
    await assert.rejects(run.files({ dtype: 'q4_1' }), { code: 'bad-option' });
    assert.equal((await run.next()).value.step, 2); // and the run is unchanged
    await run.dispose();
  });

  test('of checkpoints that do not fit', async () => {
    const run = train(tiny, text, { ...small, steps: 5 });
    await steps(run);
    const checkpoint = await run.checkpoint();
    await run.dispose();
    await refusedRun({ ...tiny, d_ff: 96 }, text, { ...small, checkpoint }, 'bad-config', /another configuration/);
    await refusedRun(tiny, text, { ...small, checkpoint, seed: 2 }, 'bad-config', /another seed/);
    await refusedRun(tiny, 'short', { ...small, checkpoint }, 'bad-config', /other data/);
    await refusedRun(tiny, `${text} `, { ...small, checkpoint }, 'bad-config', /other data/);
    await refusedRun(
      tiny,
      text,
      { ...small, checkpoint: checkpoint.slice(0, 1000) },
      'bad-file',
      /not written by this package/,
    );
    const broken = checkpoint.slice();
    broken[broken.length - 7] = 0; // within the vocabulary
    await refusedRun(tiny, text, { ...small, checkpoint: broken }, 'bad-file', /not written by this package/);
    const cut = new Uint8Array([...checkpoint.slice(0, 5000), ...checkpoint.slice(9000)]);
    await refusedRun(tiny, text, { ...small, checkpoint: cut }, 'truncated', /has \d+ bytes, expected \d+/);
  });

  test('of a run whose loss becomes NaN: the error has the code not-finite', async () => {
    const run = train(tiny, text, { ...small, steps: 100, lr: 1, muon: false, clip: 0, warmup: 0, weightDecay: 10 });
    await assert.rejects(steps(run), { code: 'not-finite' });
    await run.dispose();
  });
});
